//! The additive part of a table with gaps: what its rows and its columns do.

/// Rounds of the alternation at most; a full table needs two.
const ROUNDS: usize = 200;

/// One value of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    /// Its row.
    pub(super) row: usize,
    /// Its column.
    pub(super) column: usize,
    /// What it counts for; not negative.
    pub(super) weight: f64,
}

/// Rows and columns whose sums are the least squares fit of `values` at `cells`; none for those without a cell. So the
/// columns are compared within rows, and a column that lacks the best rows is not the worse for it.
pub(super) fn additive(
    cells: &[Cell],
    values: &[f64],
    (rows, columns): (usize, usize),
) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
    let mut row = vec![None; rows];
    let mut column: Vec<Option<f64>> = vec![None; columns];
    let reach = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    for _ in 0..ROUNDS {
        row = means(
            rows,
            cells
                .iter()
                .zip(values)
                .map(|(cell, value)| (cell.row, cell.weight, value - column[cell.column].unwrap_or(0.0))),
        );
        let next = means(
            columns,
            cells
                .iter()
                .zip(values)
                .map(|(cell, value)| (cell.column, cell.weight, value - row[cell.row].unwrap_or(0.0))),
        );
        let moved = column
            .iter()
            .zip(&next)
            .map(|(a, b)| (a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs())
            .fold(0.0, f64::max);
        column = next;
        if moved <= 1e-9 * reach {
            break;
        }
    }
    (row, column)
}

/// Weighted means by place; none where nothing weighs.
fn means(places: usize, values: impl Iterator<Item = (usize, f64, f64)>) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0.0); places];
    for (place, weight, value) in values {
        sums[place].0 += weight * value;
        sums[place].1 += weight;
    }
    sums.into_iter()
        .map(|(sum, weight)| (weight > 0.0).then_some(sum / weight))
        .collect()
}

/// The weighted variance; zero of nothing.
pub(super) fn variance(weighted: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let weight: f64 = weighted.clone().map(|(weight, _)| weight).sum();
    if weight <= 0.0 {
        return 0.0;
    }
    let mean = weighted.clone().map(|(w, value)| w * value).sum::<f64>() / weight;
    weighted.map(|(w, value)| w * (value - mean).powi(2)).sum::<f64>() / weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_in_a_table_do_not_change_what_its_columns_do() {
        let (mut cells, mut values) = (Vec::new(), Vec::new());
        for row in 0..6 {
            for column in 0..4 {
                // The better rows lack the better columns.
                if row + column < 7 && (row, column) != (0, 0) {
                    cells.push(Cell {
                        row,
                        column,
                        weight: 1.0,
                    });
                    values.push(10.0 * row as f64 + column as f64);
                }
            }
        }
        let (_, columns) = additive(&cells, &values, (6, 5));
        for column in 1..4 {
            let step = columns[column].unwrap() - columns[column - 1].unwrap();
            assert!((step - 1.0).abs() < 1e-6, "{columns:?}");
        }
        assert_eq!(columns[4], None);
    }
}
