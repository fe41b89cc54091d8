//! The scenario language from outside, as one program.

mod bdp;
mod broken;
mod cellular;
mod cross;
mod flows;
mod impairments;
mod media;
mod mutated;
mod overrides;
mod shipped;
