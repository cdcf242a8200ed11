/** Calls of all operations, recorded as examples of the API description. */
import * as api from '@hermod/protocol'
import { callerRules, isWholeBody, type Operation, operations } from '@hermod/protocol'
import { mainMethod, type OperationExample, type OperationExamples } from '@hermod/protocol/openapi'
import type { Backend, Json } from '@hermod/testkit'
import { endOfJob } from '../long-jobs.js'
import type { WalkContext } from '../walk/walk-fixture.js'
import { fixtures } from '../walk/walk-fixtures.js'
import { type Identity, type Params, requestOf } from '../walk/walk-world.js'
import { ExampleWorld } from './example-world.js'
import { type Recipe, recipes } from './recipes.js'
import { scrubber } from './scrub.js'

const done = { code: 200, data: true, message: null }
/** Calls that need an object store, or several nodes. */
const handWritten: OperationExamples = {
  [api.finishUpload.id]: { query: { ticket: 'example-ticket' }, answer: done },
  [api.drainNode.id]: { body: { node_id: 'chat-2' }, answer: done },
  [api.removeNode.id]: { body: { node_id: 'chat-2' }, answer: done },
}

/**
 * A verification runs in a process without the settings of a test, and fails. The end of a restore
 * begins the service anew.
 */
const last: readonly unknown[] = [api.verifyBackup, api.finishRestore]
const inOrder = [
  ...operations.filter((operation) => !last.includes(operation)),
  ...(last as readonly Operation[]),
]

/**
 * Calls every operation.
 * @throws Error for calls that fail
 */
export async function recordExamples(backend: Backend): Promise<OperationExamples> {
  await using example = await ExampleWorld.create(backend)
  const recorded = new Map(Object.entries(handWritten))
  const faults: string[] = []
  for (const operation of inOrder) {
    if (recorded.has(operation.id)) continue
    try {
      recorded.set(operation.id, await record(example, operation))
    } catch (error) {
      faults.push(String(error))
    }
  }
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return Object.fromEntries(operations.map(({ id }) => [id, recorded.get(id) ?? {}]))
}

const fixtureOf = new Map(fixtures.map((fixture) => [fixture.operation.id, fixture]))

async function record(example: ExampleWorld, operation: Operation): Promise<OperationExample> {
  const { world, subject, friend } = example.context
  const fixture = fixtureOf.get(operation.id)
  const own = fixture?.needsVictim
    ? { ...example.context, subject: await world.newPerson() }
    : example.context
  const recipe: Recipe = recipes[operation.id] ?? { params: async () => fixture?.params(own) ?? {} }
  const params = await recipe.params(example)
  const answer = await callOnce(example, operation, { own, recipe, params })
  const scrub = scrubber({
    now: Date.now(),
    ids: [subject.id, friend.id],
    texts: example.texts,
  })
  const { query, body } = scrub(requestOf(operation, mainMethod(operation), params))
  const hasQuery = query !== undefined && Object.keys(query).length > 0
  return {
    ...(hasQuery && !isWholeBody(operation.body) && { query }),
    ...(body !== undefined && { body }),
    ...(answer !== undefined && { answer: scrub(answer) }),
  }
}

interface Made {
  readonly own: WalkContext
  readonly recipe: Recipe
  readonly params: Params
}

/** @returns the envelope; undefined for a file */
async function callOnce(
  example: ExampleWorld,
  operation: Operation,
  { own, recipe, params }: Made,
): Promise<Json> {
  if (recipe.call) return recipe.call(example, params)
  const identity = identityOf(operation, own)
  const answer = await own.world.call(operation, identity, params, mainMethod(operation))
  if (operation.answersFile && answer.headers['content-type'] === 'image/png') return undefined
  const { envelope } = answer
  if (envelope.code !== 200) throw new Error(`${operation.id} answered ${answer.text}`)
  if (envelope.data?.job_id !== undefined) await endOfJob(example.server, envelope.data.job_id)
  return envelope
}

/** Returns the usual caller of an operation: a user where users may call. */
function identityOf(operation: Operation, { world, subject }: WalkContext): Identity {
  const { appId, adminToken } = world.here
  const { tokens } = callerRules[operation.callers]
  const may = (kind: string) => tokens.some((each) => each === kind)
  if (may('operator')) return world.operator
  if (may('ticket')) return { appId: null, token: null }
  if (may('none')) return { appId }
  if (may('user')) return { appId, token: subject.token }
  return operation.callers === 'adminForUser'
    ? world.adminFor(subject)
    : { appId, token: adminToken }
}
