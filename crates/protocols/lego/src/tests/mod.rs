mod bound;
mod gates;
mod harness;
mod honest;
mod lies;
mod rates;
