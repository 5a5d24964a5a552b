//! Quotients and remainders.

use super::{absolute, add, all, constant, extend, known, mask, negate_if, sub, sub_borrow, trimmed};
use crate::graph::{Graph, GraphBit};

/// The wanted result of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The quotient.
    Quotient,
    /// The remainder.
    Remainder,
}

/// Returns `a / b` or `a % b`; both have the same width. If `b` is zero, the quotient has all bits set, which
/// is -1 in a signed type, and the remainder is `a`. Signed quotients are rounded towards zero.
pub fn divide(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], signed: bool, remainder: bool) -> Vec<GraphBit> {
    let want = if remainder { Want::Remainder } else { Want::Quotient };
    with_signs(g, a, b, signed, want, |g, a, b| unsigned(g, a, b, want))
}

/// Returns `a // b` or `a %% b`. The quotient must fit into the width of `b`, which is half the width of `a`.
pub fn wide_divide(
    g: &mut Graph,
    a: &[GraphBit],
    b: &[GraphBit],
    signed: bool,
    remainder: bool,
) -> Vec<GraphBit> {
    let want = if remainder { Want::Remainder } else { Want::Quotient };
    with_signs(g, a, b, signed, want, |g, a, b| {
        let start = a[b.len()..].to_vec();
        let divisor = b.to_vec();
        let run = rows(g, &a[..b.len()], &divisor, start, want);
        extend(&run, b.len())
    })
}

fn with_signs(
    g: &mut Graph,
    a: &[GraphBit],
    b: &[GraphBit],
    signed: bool,
    want: Want,
    divide: impl FnOnce(&mut Graph, &[GraphBit], &[GraphBit]) -> Vec<GraphBit>,
) -> Vec<GraphBit> {
    // A result that is certainly too large for the limit is refused early, as in multiplications.
    let (n, d) = (a.len() as u64, trimmed(b).len() as u64);
    if n > 1000 && !g.reserve(n.saturating_mul(d) / 4) {
        return vec![GraphBit::ZERO; b.len()];
    }
    if !signed {
        return divide(g, a, b);
    }
    let (sign_a, sign_b) = (a[a.len() - 1], b[b.len() - 1]);
    let (abs_a, abs_b) = (absolute(g, a), absolute(g, b));
    let result = divide(g, &abs_a, &abs_b);
    let sign = match want {
        Want::Remainder => sign_a,
        Want::Quotient => {
            let differ = g.xor(sign_a, sign_b);
            // Only a division by zero sets both the highest and the lowest bit of |a| / |b|, because |a| is
            // at most a power of two. This quotient has all bits set already, and must not be negated.
            let may_be = a.len() == b.len() && a.len() > 1 && !b.contains(&GraphBit::ONE);
            let by_zero = if may_be { g.and(result[a.len() - 1], result[0]) } else { GraphBit::ZERO };
            g.and(differ, !by_zero)
        }
    };
    negate_if(g, sign, &result)
}

fn unsigned(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], want: Want) -> Vec<GraphBit> {
    let n = a.len();
    if let Some(d) = known(b) {
        return by_constant(g, a, d, want);
    }
    // Zeros at the top of the divisor make the rows of the division shorter. But a remainder fits into a
    // shorter row only if the divisor is not zero, and a division by zero has a defined result.
    let short = trimmed(b);
    if short.len() == n || short.contains(&GraphBit::ONE) {
        let result = rows(g, a, short, Vec::new(), want);
        return extend(&result, n);
    }
    if short.len() + 3 > n {
        return rows(g, a, b, Vec::new(), want);
    }
    let zero = all(g, short.iter().map(|b| !*b).collect());
    let result = extend(&rows(g, a, short, Vec::new(), want), n);
    let by_zero = if want == Want::Quotient { vec![GraphBit::ONE; n] } else { a.to_vec() };
    by_zero.into_iter().zip(result).map(|(x, y)| g.mux(zero, x, y)).collect()
}

/// Divides the bits of `a`, preceded by `rest`, which must be less than the divisor, by long division. While
/// the partial remainder is shorter than half the divisor, each row subtracts and then selects. Later rows
/// add or subtract, by the sign of the previous row (non-restoring division), at one AND per bit of the
/// divisor.
fn rows(g: &mut Graph, a: &[GraphBit], d: &[GraphBit], mut rest: Vec<GraphBit>, want: Want) -> Vec<GraphBit> {
    let length = d.len();
    let mut quotient = vec![GraphBit::ZERO; a.len()];
    // Bit k of `above` is set if the divisor has a set bit at position k or higher.
    let mut above = vec![GraphBit::ZERO; length + 1];
    for k in (0..length).rev() {
        above[k] = g.or(d[k], above[k + 1]);
    }
    let mut next = a.len();
    while next > 0 && !g.full() && rest.len() < length && (cheap(&rest, length) || length == 1) {
        next -= 1;
        rest.insert(0, a[next]);
        let k = rest.len();
        let difference = sub_borrow(g, &rest, &d[..k], true);
        let fits = g.and(!difference[k], !above[k]);
        quotient[next] = fits;
        for i in 0..k {
            rest[i] = g.mux(fits, difference[i], rest[i]);
        }
    }
    if next == 0 {
        return if want == Want::Quotient { quotient } else { rest };
    }
    // The partial remainder has one bit more than the divisor, for the sign.
    let mut s = extend(&rest, length + 1);
    let d = extend(d, length + 1);
    for i in (0..next).rev() {
        if g.full() {
            break;
        }
        let negative = s[length];
        s.pop();
        s.insert(0, a[i]);
        // A subtraction adds the inverted divisor and one.
        let term: Vec<GraphBit> = d.iter().map(|&x| g.xor(x, !negative)).collect();
        s = if negative == GraphBit::ZERO { sub(g, &s, &d) } else { add(g, &s, &term, !negative) };
        quotient[i] = !s[length];
    }
    if want == Want::Quotient {
        return quotient;
    }
    let back = mask(g, s[length], &d[..length]);
    add(g, &s[..length], &back, GraphBit::ZERO)
}

/// Returns whether a row that subtracts and selects is cheaper than one that adds or subtracts. Such a row
/// costs twice the length of the remainder, and known bits at the top of the dividend are free.
fn cheap(rest: &[GraphBit], length: usize) -> bool {
    let unknown = rest.iter().filter(|b| b.known().is_none()).count();
    2 * unknown + 4 < length
}

fn by_constant(g: &mut Graph, a: &[GraphBit], d: u128, want: Want) -> Vec<GraphBit> {
    let n = a.len();
    if d == 0 {
        return if want == Want::Quotient { vec![GraphBit::ONE; n] } else { a.to_vec() };
    }
    let zeros = d.trailing_zeros() as usize;
    let bits = 128 - d.leading_zeros() as usize;
    if bits > trimmed(a).len() {
        return if want == Want::Quotient { vec![GraphBit::ZERO; n] } else { a.to_vec() };
    }
    // Here a = high 2^zeros + low and d = odd 2^zeros.
    let odd = d >> zeros;
    let high = trimmed(&a[zeros..]).to_vec();
    let divisor: Vec<GraphBit> = (0..bits - zeros).map(|i| GraphBit::constant(odd >> i & 1 == 1)).collect();
    let quotient = if odd == 1 { Some(high.clone()) } else { reciprocal(g, &high, odd, want) };
    let result = match (quotient, want) {
        (Some(quotient), Want::Quotient) => quotient,
        (Some(_), Want::Remainder) if odd == 1 => a[..zeros].to_vec(),
        (Some(quotient), Want::Remainder) => {
            // The remainder is shorter than the divisor, so only the lower bits of the product are needed.
            let width = bits - zeros;
            let product = constant::multiply(g, &quotient, odd, width);
            let rest = sub(g, &extend(&high, width), &product);
            a[..zeros].iter().copied().chain(rest).collect()
        }
        (None, Want::Quotient) => rows(g, &high, &divisor, Vec::new(), want),
        (None, Want::Remainder) => {
            a[..zeros].iter().copied().chain(rows(g, &high, &divisor, Vec::new(), want)).collect()
        }
    };
    extend(&result, n)
}

/// Returns the quotient by an odd constant: the upper bits of a product with its reciprocal (Granlund and
/// Montgomery). Returns none if a long division is cheaper.
fn reciprocal(g: &mut Graph, a: &[GraphBit], d: u128, want: Want) -> Option<Vec<GraphBit>> {
    let n = a.len() as u32;
    let length = 128 - d.leading_zeros();
    if n > 62 || length > n {
        return None;
    }
    // m = ceil(2^(n + s) / d) is exact enough if m d - 2^(n + s) <= 2^s.
    let candidates = (0..=length).filter_map(|s| {
        let power = 1u128 << (n + s);
        let m = power.div_ceil(d);
        (m * d - power <= 1 << s).then_some((s, m))
    });
    let candidates: Vec<(u32, u128)> = candidates.collect();
    let best = candidates.into_iter().map(|(s, m)| (g.chains.chain(m).cost(n), s, m)).min()?;
    let (mut cost, s, m) = best;
    if want == Want::Remainder {
        cost += g.chains.chain(d).cost(length) + length;
    }
    let long = (n - length + 1) * length + if want == Want::Remainder { 2 * length } else { 0 };
    if cost >= long {
        return None;
    }
    let product = constant::multiply(g, a, m, 2 * n as usize + 1 + s as usize);
    Some(product[(n + s) as usize..].iter().copied().take(n as usize).collect())
}
