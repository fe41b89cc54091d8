//! Object transfer and what fuzzers found from outside, as one program; emulated links, which measure time, have their own.

mod forwarder_fuzz;
mod object_fuzz;
mod object_hostile;
mod object_loop;
mod object_publish;
mod object_resume;
