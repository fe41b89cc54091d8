//! Experiments, metrics, papers and the optimum from outside, as one program.

mod cell_metrics;
mod checkpoints;
mod common;
mod criteria;
mod criteria_oracle;
mod flows;
mod foreign_queue;
mod loops;
mod losses;
mod made_up;
mod ndnsieve;
mod optimum_ceilings;
mod order;
mod papers;
mod papers_verdicts;
mod parallel;
mod parts;
mod pcon_scenarios;
mod players;
mod report_metrics;
mod report_optimum;
mod scenario_schemes;
mod signals;
mod source_figures;
mod tables;
mod watching;
