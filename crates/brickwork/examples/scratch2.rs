//! scratch
use brickwork::duplo::Parameters;
fn main(){let p=brickwork::circuit::formats::load(&std::fs::read("/work/shared/circuits/aes_128.txt").unwrap(),"aes").unwrap();
for n in [1usize,32,128,1024]{let p=p.repeat(n).unwrap();let t=std::time::Instant::now();let q=Parameters::choose(&p,40).unwrap();println!("{n} {:?} {:?} {:?} {:?}",t.elapsed(),q.components,q.plain,q.input);}}
