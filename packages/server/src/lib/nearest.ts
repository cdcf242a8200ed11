/**
 * The number of single-character edits between two texts. A swap of two neighbours counts as one
 * edit, since it is the most common typing mistake (optimal string alignment).
 */
export function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      const swapped =
        row > 1 &&
        column > 1 &&
        from[row - 1] === to[column - 2] &&
        from[row - 2] === to[column - 1]
      const edits = [
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
        swapped ? at(beforePrevious, column - 2) + 1 : Number.POSITIVE_INFINITY,
      ]
      current.push(Math.min(...edits))
    }
    beforePrevious = previous
    previous = current
  }
  return at(previous, to.length)
}

/** The known name with the fewest edits from `name`; the first of equally near names. */
export function nearest<Known extends string>(
  name: string,
  known: readonly [Known, ...Known[]],
): Known {
  const distances = known.map((candidate) => ({
    candidate,
    distance: editDistance(name, candidate),
  }))
  return distances.reduce((best, next) => (next.distance < best.distance ? next : best)).candidate
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
