/** The recorded calls that the reference shows, read as the service reads and writes them. */
import { type Operation, operations } from '@hermod/protocol'
import { openApiDocument, referenceSections } from '@hermod/protocol/openapi'
import { describe, expect, it } from 'vitest'
import { jsonValue } from '../http/bodies/body-value.js'
import { openApiExamples } from '../http/routes/openapi-examples.js'
import { compileAnswerCheck } from './encode.js'
import { compileParameters } from './parameters.js'

const document = openApiDocument({
  version: '1.2.3',
  builtOperationIds: new Set(operations.map(({ id }) => id)),
  serverUrl: 'http://127.0.0.1:8080',
  examples: openApiExamples(),
})
const described = referenceSections(document).flatMap((section) => section.operations)
const byId = new Map(operations.map((operation) => [operation.id as string, operation]))

/** Returns the faults of the parameters of an example. */
async function faultOf(id: string, example: string): Promise<string | null> {
  const operation = byId.get(id)
  if (operation === undefined || operation.takesFile) return null
  const query = Object.fromEntries(new URLSearchParams(/\?([^"]*)"/.exec(example)?.[1] ?? ''))
  const text = /-d '(.*)'$/s.exec(example)?.[1]?.replaceAll("'\\''", "'")
  const contentType = 'application/json'
  const body = () =>
    text === undefined
      ? undefined
      : jsonValue({ bytes: Buffer.from(text), contentType, contentEncoding: undefined })
  try {
    await compileParameters(operation)({ query, body }, () => {})
    return null
  } catch (error) {
    return String(error)
  }
}

describe('the examples of the reference', () => {
  it('are read by the service without a fault', async () => {
    expect(described.map(({ id }) => id).sort()).toEqual([...byId.keys()].sort())
    const faults = await Promise.all(
      described.map(async ({ id, example }) => [id, await faultOf(id, example)]),
    )
    expect(Object.fromEntries(faults.filter(([, fault]) => fault !== null))).toEqual({})
  })

  it('have an answer that the service could have written, or answer a file', () => {
    for (const { id, answerExample, answersFile } of described) {
      const operation = byId.get(id) as Operation
      if (answersFile) continue
      expect(answerExample, `${id} has an example; npm run examples records it`).toBeDefined()
      const { code, message, ...payload } = answerExample as Record<string, unknown>
      expect([code, message], id).toEqual([200, null])
      const { data, ...extras } = payload
      compileAnswerCheck(operation)?.({ data, extras }, JSON.stringify(answerExample))
    }
  })
})
