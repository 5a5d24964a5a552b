mod bound;
mod gates;
mod honest;
mod lies;
mod support;
