/** How tests make contacts, and how they look at them. */
import type { RosterApplication, RosterEntry } from '@hermod/protocol'
import type { Answer, Api } from '@hermod/testkit'
import type { TestServer } from './watched-server.js'

export const relations = { contact: 0, former: 1, stranger: 2, blocked: 3 } as const
export const authModes = { open: 0, consent: 1, question: 2, closed: 3 } as const

/** More pages than any test needs. */
const maxPages = 1_000

/** A user, called for by the Admin. */
export interface Person {
  readonly id: number
  readonly username: string
  readonly api: Api
}

/** A mobile number that no other user has. */
export const mobileOf = (userId: unknown): string => `+49${String(userId).slice(-13)}`

/** As many elements as the number says; any number of them where it is no literal. */
export type Tuple<
  Element,
  Count extends number,
  Found extends Element[] = [],
> = number extends Count
  ? Element[]
  : Found['length'] extends Count
    ? Found
    : Tuple<Element, Count, [...Found, Element]>

let batches = 0

export async function registerPeople<Count extends number>(
  server: Pick<TestServer, 'api'>,
  count: Count,
): Promise<Tuple<Person, Count>> {
  const batch = ++batches
  const names = Array.from({ length: count }, (_, index) => `person_${batch}_${index}`)
  const accounts = await server.api.addUsers(names)
  return accounts.map(({ id, username }) => ({
    id,
    username,
    api: server.api.admin({ userId: id }),
  })) as Tuple<Person, Count>
}

/** People whom nobody has had to do with; registered many at a time, because one by one takes long. */
export class PeoplePool {
  #people: Person[] = []

  constructor(
    private readonly server: Pick<TestServer, 'api'>,
    private readonly batch: number,
  ) {}

  async take<Count extends number>(count: Count): Promise<Tuple<Person, Count>> {
    if (this.#people.length < count)
      this.#people = await registerPeople(this.server, Math.max(count, this.batch) as number)
    return this.#people.splice(0, count) as Tuple<Person, Count>
  }
}

const onUser =
  (method: string, path: string, home: 'query' | 'body') =>
  (api: Api, userId: number, extras: object = {}) =>
    api.call(method, path, { [home]: { user_id: userId, ...extras } })

export const apply = onUser('POST', '/roster/apply', 'body')
export const accept = onUser('POST', '/roster/accept', 'query')
export const decline = onUser('POST', '/roster/decline', 'body')
export const remove = onUser('DELETE', '/roster/delete', 'query')
export const updateContact = onUser('POST', '/roster/ext', 'body')
export const block = onUser('POST', '/roster/block', 'query')
export const unblock = onUser('DELETE', '/roster/unblock', 'query')

/** Without asking. */
export async function connect(
  person: Pick<Person, 'api'>,
  ...others: readonly Pick<Person, 'id'>[]
): Promise<void> {
  await person.api.succeed('POST', '/user/add_roster', {
    body: { list: others.map(({ id }) => id) },
  })
}

export async function changeSettings(
  { api, id }: Pick<Person, 'id' | 'api'>,
  settings: object,
): Promise<void> {
  await api.succeed('POST', '/user/settings', { body: { user_id: id, ...settings } })
}

/** A user as the caller sees it. */
export async function entryOf(api: Api, userId: number): Promise<RosterEntry> {
  return (await api.succeed<RosterEntry>('GET', '/roster/id', { query: { user_id: userId } })).data
}

export async function relationOf(api: Api, userId: number): Promise<number> {
  return (await entryOf(api, userId)).relation
}

export async function mayMessage(
  api: Api,
  senderId: number,
  recipientId: number,
): Promise<boolean> {
  return (
    await api.succeed('GET', '/roster/may_message', {
      query: { user_id: senderId, roster_id: recipientId },
    })
  ).data
}

async function allPages<T>(api: Api, path: string, limit?: number): Promise<T[]> {
  const all: T[] = []
  let cursor: string | undefined
  for (let pages = 1; ; pages++) {
    const page = await api.succeed<T[]>('GET', path, { query: { cursor, limit } })
    all.push(...page.data)
    if (page.cursor === undefined) return all
    if (pages === maxPages) throw new Error(`${path} has no last page`)
    cursor = page.cursor
  }
}

/** All pages, by user ID. */
export const contactIds = (api: Api, limit?: number) => allPages<number>(api, '/roster/list', limit)

/** All pages, newest first. */
export const contactRequests = (api: Api, limit?: number) =>
  allPages<RosterApplication>(api, '/roster/apply/list', limit)

export async function blockedIds(api: Api): Promise<number[]> {
  return (await api.succeed('GET', '/roster/blocked_list')).data
}

/** The codes of answers, in order. */
export function codes(answers: readonly Answer[]): number[] {
  return answers.map(({ code }) => code)
}
