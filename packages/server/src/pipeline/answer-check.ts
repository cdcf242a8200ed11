import { isDeepStrictEqual } from 'node:util'
import { type Operation, object } from '@hermod/protocol'
import { parseJson, stringifyJson } from '../lib/json.js'
import type { Payload } from './call.js'
import { compileDecoder } from './decode.js'

/** Throws when an answer, or its text, breaks the definition of its operation. */
export type AnswerCheck = (payload: Payload, text: string) => void

/** @returns null for an operation that answers a file */
export function compileAnswerCheck(operation: Operation): AnswerCheck | null {
  if (operation.answersFile) return null
  const decodeData = compileDecoder(operation.data, 'exact')
  const decodeExtras = compileDecoder(object(operation.extras), 'exact')
  return ({ data, extras }, text) => {
    const violations: string[] = []
    decodeData(data, 'data', violations)
    decodeExtras(extras ?? {}, 'extras', violations)
    const expected = stringifyJson({ code: 200, data, message: null, ...(extras as object) })
    if (!isDeepStrictEqual(parseJson(text), parseJson(expected)))
      violations.push('it is written differently than it is')
    if (violations.length > 0)
      throw new Error(
        `the answer of ${operation.id} breaks its definition: ${violations.join('; ')}`,
      )
  }
}
