#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ndnweir_control_fuzz::gnmi(data));
