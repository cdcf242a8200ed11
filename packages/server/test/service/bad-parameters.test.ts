/**
 * Every parameter of every operation: the refusal names each bad one (rules A4, B2, B3). In the
 * pipeline alone: the handler is never reached, so nothing is left behind. http-parameters.test.ts
 * has the same over HTTP with a few operations.
 */
import { type Operation, operations } from '@hermod/protocol'
import { expect, it } from 'vitest'
import {
  asQueryText,
  type BadValue,
  badValues,
  type Parameter,
  parametersOf,
  sample,
} from '../support/walk/parameter-values.js'
import {
  identities,
  type Outcome,
  StubbedPipeline,
  subject,
} from '../support/walk/stubbed-pipeline.js'

/** Without uploads: a bad ticket is refused as a credential. */
const withParameters = (operations as readonly Operation[])
  .filter((operation) => operation.callers !== 'ticket' && parametersOf(operation).length > 0)
  .map((operation) => ({ id: operation.id, operation }))
const pipeline = new StubbedPipeline()

interface Given {
  readonly parameter: Parameter
  readonly value: unknown
}

/**
 * Calls with the given values and good ones for other required parameters, each where the contract
 * puts it, if it can stand there.
 */
function callWith(operation: Operation, method: string, given: readonly Given[]): Promise<Outcome> {
  const others = parametersOf(operation).filter(
    ({ isRequired, name }) => isRequired && !given.some(({ parameter }) => parameter.name === name),
  )
  const all = [
    ...others.map((parameter) => ({ parameter, value: sample(parameter.schema) })),
    ...given,
  ]
  const query: Record<string, string> = {}
  const body: Record<string, unknown> = {}
  for (const { parameter, value } of all) {
    const text = parameter.home === 'query' ? asQueryText(parameter.schema, value) : undefined
    if (text === undefined) body[parameter.name] = value
    else query[parameter.name] = text
  }
  const { tokens, here } = identities
  const identity =
    operation.callers === 'operator'
      ? { token: tokens['operator valid'] }
      : operation.callers === 'device'
        ? { token: subject.token, appId: here.appId }
        : { token: tokens['admin valid'], appId: here.appId, userId: subject.id }
  return pipeline.send(operation, identity, method === 'GET' ? { query } : { query, body })
}

/** Bad values that the method can carry: a query carries fewer than a body. */
function badValuesFor({ schema }: Parameter, method: string): BadValue[] {
  return method === 'GET'
    ? badValues(schema).filter(({ value }) => asQueryText(schema, value) !== undefined)
    : badValues(schema)
}

function names({ principal, error, message }: Outcome, name: string): boolean {
  const expected = new RegExp(
    `(?:parameter: |; )${name}(?:\\[\\d+\\])?(?:\\.\\w+)* (?:must|is required)`,
  )
  return principal === null && error === 'invalid_parameter' && expected.test(message)
}

it.each(withParameters)('$id: names each bad parameter', async ({ operation }) => {
  const unnamed: string[] = []
  for (const method of operation.methods) {
    for (const parameter of parametersOf(operation)) {
      const { name, schema, isRequired } = parameter
      const missing = [
        { what: 'missing', value: undefined },
        ...(method === 'GET' ? [] : [{ what: 'null', value: null }]),
        ...(schema.type === 'string' ? [] : [{ what: 'empty', value: '' }]),
      ]
      for (const { what, value } of [
        ...badValuesFor(parameter, method),
        ...(isRequired ? missing : []),
      ]) {
        const outcome = await callWith(operation, method, [{ parameter, value }])
        if (!names(outcome, name))
          unnamed.push(`${method} with ${name} ${what}: ${outcome.message.slice(0, 300)}`)
      }
    }
  }
  expect(unnamed).toEqual([])
})

it.each(withParameters)('$id: names all bad parameters of one call', async ({ operation }) => {
  for (const method of operation.methods) {
    const given = parametersOf(operation).flatMap((parameter) => {
      const [bad] = badValuesFor(parameter, method)
      return bad === undefined ? [] : [{ parameter, value: bad.value }]
    })
    const outcome = await callWith(operation, method, given)
    const unnamed = given.filter(({ parameter: { name } }) => !names(outcome, name))
    expect(unnamed, outcome.message).toEqual([])
  }
})
