/**
 * Repeats a run while work is in progress. A run that ends after the work counts in the first place
 * only.
 * @throws the error of the work, or of a run
 */
export async function runsDuring<Result, Run>(
  work: Promise<Result>,
  run: () => Promise<Run>,
): Promise<{ readonly result: Result; readonly runs: readonly Run[] }> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  work.then(end, end)
  const runs: Run[] = []
  while (!isOver) {
    const one = await run()
    if (!isOver || runs.length === 0) runs.push(one)
  }
  return { result: await work, runs }
}
