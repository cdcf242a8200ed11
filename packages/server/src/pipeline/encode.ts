import { isDeepStrictEqual } from 'node:util'
import { type Operation, object, type TSchema } from '@hermod/protocol'
import type { AnySchema } from 'fast-json-stringify'
import type { EventLoopBudget } from '../lib/concurrency/event-loop-budget.js'
import { parseOwnJson, stringifyJson } from '../lib/json.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { lateLoader } from '../lib/system/late-loader.js'
import type { Payload } from './call.js'
import { compileDecoder } from './decode.js'

type Compile = typeof import('fast-json-stringify').default

/**
 * Loaded with the first answer: the compiler takes 50 ms and 16 MB, mostly for kinds of schemas
 * that the contract does not use.
 */
const load = lateLoader(import.meta.url)

/** Writes the envelope of a success as JSON text. */
export type EncodeEnvelope = (payload: Payload) => string

/**
 * Compiles the envelope of an operation's successes from its definition. It writes a page of
 * history in half the time of JSON.stringify. Members that the definition does not name are left
 * out of the answer.
 */
export function compileEncoder({ data, extras }: Operation): EncodeEnvelope {
  const members = Object.entries(extras).map(([name, schema]) => [name, shapeOf(schema)])
  const compile = load('fast-json-stringify') as Compile
  const encode = compile({
    type: 'object',
    properties: {
      code: { type: 'integer' },
      data: shapeOf(data),
      message: { type: 'null' },
      ...Object.fromEntries(members),
    },
  } as AnySchema)
  return ({ data, extras }) =>
    encode({ code: 200, data, message: null, ...(extras as object | undefined) })
}

/** Writes the envelope of a success as JSON text; a long list in chunks, each in a turn of the event loop. */
export type EncodeAnswer = (payload: Payload) => MaybePromise<string>

/** Entries of a list that are written at once. */
const chunkLength = 250

/** Compiles at the first use: callers that take the value itself never pay for it. */
export function answerEncoder(operation: Operation, budget: EventLoopBudget): EncodeAnswer {
  let encode: EncodeEnvelope | undefined
  return (payload) => {
    encode ??= compileEncoder(operation)
    const { data } = payload
    if (!Array.isArray(data) || data.length <= chunkLength) return encode(payload)
    return encodeInChunks(encode, payload, budget)
  }
}

const emptyList = '"data":[]'
const listStart = emptyList.length - 1

async function encodeInChunks(
  encode: EncodeEnvelope,
  { data, extras }: Payload,
  budget: EventLoopBudget,
): Promise<string> {
  const texts: string[] = []
  for await (const chunk of budget.chunks(data as readonly unknown[], chunkLength)) {
    const text = encode({ data: chunk })
    texts.push(text.slice(text.indexOf('[') + 1, text.lastIndexOf(']')))
  }
  const frame = encode({ data: [], extras })
  const at = frame.indexOf(emptyList) + listStart
  return frame.slice(0, at) + texts.join(',') + frame.slice(at)
}

/**
 * Keeps the parts of a schema that matter for writing: ranges, formats and descriptions would only
 * cost time.
 */
function shapeOf({ type, properties, items, additionalProperties }: TSchema): object {
  if (type === 'array') return { type, items: items === undefined ? {} : shapeOf(items as TSchema) }
  if (type !== 'object') return type === undefined ? {} : { type }
  const members = Object.entries((properties ?? {}) as Record<string, TSchema>).map(
    ([name, schema]) => [name, shapeOf(schema)],
  )
  return {
    type,
    properties: Object.fromEntries(members),
    ...(additionalProperties === true ? { additionalProperties } : {}),
  }
}

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
    if (!isDeepStrictEqual(parseOwnJson(text), parseOwnJson(expected)))
      violations.push('it is written differently than it is')
    if (violations.length > 0)
      throw new Error(
        `the answer of ${operation.id} breaks its definition: ${violations.join('; ')}`,
      )
  }
}
