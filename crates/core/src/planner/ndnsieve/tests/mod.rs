mod decisions;
mod graph;
mod oracle;
mod scale;
