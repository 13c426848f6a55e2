//! The minimum of a function of a few variables (Nelder and Mead 1965).

/// A point near the minimum of `f`, from `start` with steps of `step` in each direction, and its value.
pub(super) fn minimise(f: impl Fn(&[f64]) -> f64, start: &[f64], step: f64) -> (Vec<f64>, f64) {
    let n = start.len();
    let mut simplex: Vec<(Vec<f64>, f64)> = (0..=n)
        .map(|i| {
            let mut at = start.to_vec();
            if i > 0 {
                at[i - 1] += step;
            }
            let value = f(&at);
            (at, value)
        })
        .collect();
    for _ in 0..400 {
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        if (simplex[n].1 - simplex[0].1).abs() <= 1e-9 * simplex[0].1.abs() {
            break;
        }
        let centre: Vec<f64> =
            (0..n).map(|k| simplex[..n].iter().map(|one| one.0[k]).sum::<f64>() / n as f64).collect();
        let towards = |by: f64| {
            let at: Vec<f64> = centre.iter().zip(&simplex[n].0).map(|(c, worst)| c + by * (c - worst)).collect();
            let value = f(&at);
            (at, value)
        };
        let reflected = towards(1.0);
        let next = if reflected.1 < simplex[0].1 {
            let expanded = towards(2.0);
            if expanded.1 < reflected.1 { expanded } else { reflected }
        } else if reflected.1 < simplex[n - 1].1 {
            reflected
        } else {
            towards(-0.5)
        };
        if next.1 < simplex[n].1 {
            simplex[n] = next;
            continue;
        }
        // Shrink towards the best point.
        let best = simplex[0].0.clone();
        for (at, value) in &mut simplex[1..] {
            at.iter_mut().zip(&best).for_each(|(x, b)| *x = f64::midpoint(*x, *b));
            *value = f(at);
        }
    }
    simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
    simplex.swap_remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_minimum_of_a_curved_valley() {
        let rosenbrock = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2) + 1.0;
        let (at, value) = minimise(rosenbrock, &[-1.2, 1.0], 0.3);
        assert!((at[0] - 1.0).abs() < 1e-2 && (at[1] - 1.0).abs() < 1e-2 && value - 1.0 < 1e-4, "{at:?}");
    }
}
