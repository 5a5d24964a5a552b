use brickwork_circuit::library;
use brickwork_justgarble::{Circuit, Function};
fn main() {
    for c in [library::aes::aes_128_expanded().unwrap(), library::aes::aes_128().unwrap()] {
    let c = Circuit::of(&c.flatten().unwrap()).unwrap();
    let n = c.inputs() as usize;
    let mut readers = vec![vec![]; n + c.gates().len()];
    for (k, g) in c.gates().iter().enumerate() { readers[g.first as usize].push(k); readers[g.second as usize].push(k); }
    let mut inl = 0;
    let mut by_and = 0;
    let mut arity = vec![0usize; c.gates().len()];
    for (k, g) in c.gates().iter().enumerate() {
        if g.function != Function::XOR { continue; }
        for w in [g.first, g.second] {
            let w = w as usize;
            arity[k] += if w >= n && c.gates()[w - n].function == Function::XOR && readers[w].len() == 1 { arity[w - n] } else { 1 };
        }
        if readers[n + k].len() == 1 {
            if c.gates()[readers[n + k][0]].function == Function::XOR { inl += 1; arity[k] += 1000 * 0; } else { by_and += 1; }
        }
    }
    let mut hist = [0; 20];
    for (k, g) in c.gates().iter().enumerate() {
        if g.function == Function::XOR && !(readers[n + k].len() == 1 && c.gates()[readers[n + k][0]].function == Function::XOR) { hist[arity[k].min(19)] += 1; }
    }
    println!("gates {} xors {} inlinable {} read by one and {} arities {:?}", c.gates().len(), c.xor_gates(), inl, by_and, hist);
    }
}
