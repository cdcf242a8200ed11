/** Prints the steps of a run with their time and result. */

/** The steps so far; a step that fails ends the run. */
export class Transcript {
  readonly #startedAt = performance.now()

  /**
   * Runs a step and prints it.
   * @param resultOf describes the result in a few lines
   */
  async step<T>(what: string, work: () => Promise<T>, resultOf: (result: T) => string): Promise<T> {
    const startedAt = performance.now()
    try {
      const result = await work()
      this.#print(what, startedAt, resultOf(result))
      return result
    } catch (error) {
      this.#print(what, startedAt, 'FAILED')
      throw error
    }
  }

  heading(text: string): void {
    process.stdout.write(`\n${text}\n`)
  }

  end(): void {
    const seconds = (performance.now() - this.#startedAt) / 1_000
    process.stdout.write(`\nAll steps succeeded in ${seconds.toFixed(0)} s.\n`)
  }

  #print(what: string, startedAt: number, result: string): void {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6)
    process.stdout.write(
      `${seconds} s  ${what}\n          ${result.replaceAll('\n', '\n          ')}\n`,
    )
  }
}

/** @throws Error with the text when something is not as it should be */
export function require(isRight: boolean, text: string): asserts isRight {
  if (!isRight) throw new Error(text)
}
