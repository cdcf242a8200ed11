import { type ErrorName, errorCatalogue } from '@hermod/protocol'
import { expect } from 'vitest'

const errors = Object.entries(errorCatalogue).map(([name, { code }]) => [name, code])

type CodeName = ErrorName | 'ok'

/** The codes of answers by the names of the error catalogue; `ok` is success. */
export const answerCode = { ok: 200, ...Object.fromEntries(errors) } as Readonly<
  Record<CodeName, number>
>

interface CodedAnswer {
  readonly code: number
  /** Stands before the two codes in the report of a failure. */
  readonly text?: string
}

/** Checks the code of an answer by its name in the error catalogue. */
export async function expectCode(
  answer: CodedAnswer | Promise<CodedAnswer>,
  name: CodeName,
): Promise<void> {
  const { code, text } = await answer
  expect(code, text).toBe(answerCode[name])
}

/** Checks that so many answers are successes and that the code of all others is this one. */
export function expectSuccesses(
  answers: readonly CodedAnswer[],
  successes: number,
  otherwise: ErrorName,
): void {
  const expected = answers.map((_, index) => answerCode[index < successes ? 'ok' : otherwise])
  const found = answers.map(({ code }) => code)
  expect(found.toSorted((a, b) => a - b)).toEqual(expected.toSorted((a, b) => a - b))
}
