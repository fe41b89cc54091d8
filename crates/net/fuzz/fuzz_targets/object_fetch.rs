#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ndnweir_net_fuzz::object_fetch(data));
