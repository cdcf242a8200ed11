/** Calls of all operations, recorded as examples of the API description. */
import { callerRules, isWholeBody, type Operation, operations } from '@hermod/protocol'
import type { OperationExample, OperationExamples } from '@hermod/protocol/openapi'
import type { Backend, Json } from '@hermod/testkit'
import { endOfJob } from '../long-jobs.js'
import type { WalkContext } from '../walk/walk-fixture.js'
import { fixtures } from '../walk/walk-fixtures.js'
import { type Identity, type Params, requestOf } from '../walk/walk-world.js'
import { ExampleWorld } from './example-world.js'
import { type Recipe, recipes } from './recipes.js'
import { scrubber } from './scrub.js'

/** Operations of which the machine cannot make a call that succeeds. */
export const withoutExample: ReadonlySet<string> = new Set([
  // Needs an object store.
  'file.upload.done',
  // Needs a restored service.
  'operator.restore.finish',
])

/**
 * Calls every operation.
 * @throws Error for a call that fails
 */
export async function recordExamples(backend: Backend): Promise<OperationExamples> {
  await using example = await ExampleWorld.create(backend)
  const recorded: [string, OperationExample][] = []
  for (const operation of operations)
    if (!withoutExample.has(operation.id))
      recorded.push([operation.id, await record(example, operation)])
  return Object.fromEntries(recorded)
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
    texts: [[example.server.url, 'https://chat.example.com']],
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
  if (operation.answersFile && answer.headers['content-type'] !== 'application/json') return undefined
  const { envelope } = answer
  if (envelope.code !== 200) throw new Error(`${operation.id} answered ${answer.text}`)
  if (envelope.data?.job_id !== undefined) await endOfJob(example.server, envelope.data.job_id)
  return envelope
}

function mainMethod({ methods }: Operation): string {
  return methods.includes('POST') ? 'POST' : (methods[0] as string)
}

/** The caller for whom the operation is meant: a user where users may call. */
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
