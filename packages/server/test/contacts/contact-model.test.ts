/**
 * What the service does to contacts, block lists and applications against a model of the rules, and
 * what must hold when several do something at once: that some order of their calls explains all
 * answers and what is there afterwards. A failure prints the shortest history that shows it.
 */
import { testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { PeoplePool, type Person } from '../support/contacts.js'
import { type InProcessServer, ownServer } from '../support/in-process-server.js'
import { integrityFaults, textTo } from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'
import { World } from '../support/model-world.js'
import { explanations } from '../support/push/explanations.js'

const userCount = 3
const users = Array.from({ length: userCount }, (_, user) => user)
const pairs = users.flatMap((user) =>
  users.filter((peer) => peer !== user).map((peer) => [user, peer] as const),
)
const rightAnswer = 'Blue'
const blockedRelation = 3

/** One call by one user about another. */
interface Call {
  readonly kind: keyof typeof rules
  readonly actor: number
  readonly peer: number
  readonly text: string
  readonly flag: boolean
  /** auth_mode, or what stranger_chat becomes. */
  readonly choice: number
}

interface Side {
  /** 0 contact, 1 former contact, 2 stranger */
  state: number
  isBlocked: boolean
  /** The peer alone has made the contact. */
  isUnasked: boolean
  alias: string
  ext: string
  isMuted: boolean
}

interface Asked {
  /** 0 waiting, 1 accepted, 2 rejected */
  status: number
  alias: string
  reason: string
}

/** Plain data, so that it can be copied. */
interface State {
  readonly sides: Side[][]
  /** By receiver and applicant. */
  readonly asked: (Asked | null)[][]
  /** By sender and recipient. */
  readonly hasWritten: boolean[][]
  readonly authModes: number[]
  readonly refusesStrangers: boolean[]
}

function newState(): State {
  return {
    sides: users.map(() =>
      users.map(() => ({
        ...{ state: 2, isBlocked: false, isUnasked: false, alias: '', ext: '', isMuted: false },
      })),
    ),
    asked: users.map(() => users.map(() => null)),
    hasWritten: users.map(() => users.map(() => false)),
    authModes: users.map(() => 0),
    refusesStrangers: users.map(() => false),
  }
}

const side = (state: State, user: number, peer: number) => state.sides[user]?.[peer] as Side
const asked = (state: State, user: number, applicant: number) =>
  state.asked[user]?.[applicant] ?? null
const isOpen = (state: State, user: number, applicant: number) =>
  asked(state, user, applicant)?.status === 0

function makeContacts(
  state: State,
  user: number,
  peer: number,
  alias: string,
  aliasOfUser: string,
  isUnasked = false,
): number {
  for (const [own, name] of [
    [side(state, user, peer), alias],
    [side(state, peer, user), aliasOfUser],
  ] as const) {
    own.state = 0
    own.isUnasked = false
    if (name !== '') own.alias = name
  }
  side(state, peer, user).isUnasked = isUnasked
  for (const request of [asked(state, user, peer), asked(state, peer, user)])
    if (request?.status === 0) request.status = 1
  return 200
}

function codeOfSend(state: State, sender: number, recipient: number): number {
  if (sender === recipient) return 200
  const { isBlocked, isUnasked, state: relation } = side(state, recipient, sender)
  if (isBlocked) return answerCode.blocked_by_recipient
  const isAccepted = relation === 0 && !isUnasked
  return state.refusesStrangers[recipient] && !isAccepted ? answerCode.stranger_refused : 200
}

/** What each call does to the model; @returns the code that it is answered with */
const rules = {
  apply(state: State, { actor, peer, text, flag }: Call): number {
    if (actor === peer) return answerCode.invalid_parameter
    const [own, theirs] = [side(state, actor, peer), side(state, peer, actor)]
    if (own.state === 0 && !own.isUnasked) return answerCode.already_contact
    if (own.isBlocked || theirs.isBlocked) return answerCode.in_block_list
    if (own.isUnasked) return keep(state, { actor, peer }, text === '' ? {} : { alias: text })
    if (isOpen(state, actor, peer))
      return makeContacts(state, actor, peer, text, asked(state, actor, peer)?.alias ?? '')
    const mode = state.authModes[peer]
    if (mode === 3) return answerCode.contact_requests_refused
    if (mode === 2 && !flag) return answerCode.wrong_auth_answer
    const isWanted = theirs.state !== 1 && state.hasWritten[peer]?.[actor]
    const isUnasked = mode === 0 && !isWanted
    if (mode !== 1) return makeContacts(state, actor, peer, text, '', isUnasked)
    const row = state.asked[peer] as (Asked | null)[]
    row[actor] = { status: 0, alias: text, reason: text }
    return 200
  },
  accept(state: State, { actor, peer }: Call): number {
    if (!isOpen(state, actor, peer)) return answerCode.contact_request_not_found
    if (side(state, actor, peer).isBlocked || side(state, peer, actor).isBlocked)
      return answerCode.in_block_list
    return makeContacts(state, actor, peer, '', asked(state, actor, peer)?.alias ?? '')
  },
  decline(state: State, { actor, peer }: Call): number {
    const request = asked(state, actor, peer)
    if (request?.status !== 0) return answerCode.contact_request_not_found
    request.status = 2
    return 200
  },
  delete(state: State, { actor, peer }: Call): number {
    const own = side(state, actor, peer)
    if (own.state !== 0) return answerCode.not_contact
    Object.assign(own, { state: 1, isUnasked: false, alias: '', ext: '', isMuted: false })
    Object.assign(side(state, peer, actor), { state: 1, isUnasked: false })
    return 200
  },
  alias: (state: State, call: Call) => keep(state, call, { alias: call.text }),
  ext: (state: State, call: Call) => keep(state, call, { ext: call.text }),
  mute: (state: State, call: Call) => keep(state, call, { isMuted: call.flag }),
  block(state: State, { actor, peer }: Call): number {
    if (actor === peer) return answerCode.invalid_parameter
    side(state, actor, peer).isBlocked = true
    return 200
  },
  unblock(state: State, { actor, peer }: Call): number {
    side(state, actor, peer).isBlocked = false
    return 200
  },
  add(state: State, { actor, peer }: Call): number {
    if (actor === peer) return answerCode.invalid_parameter
    return side(state, actor, peer).state === 0 ? 200 : makeContacts(state, actor, peer, '', '')
  },
  authMode(state: State, { actor, choice }: Call): number {
    state.authModes[actor] = choice
    return 200
  },
  strangers(state: State, { actor, flag }: Call): number {
    state.refusesStrangers[actor] = flag
    return 200
  },
  send(state: State, { actor, peer }: Call): number {
    const code = codeOfSend(state, actor, peer)
    if (code !== 200) return code
    const row = state.hasWritten[actor] as boolean[]
    row[peer] = true
    side(state, actor, peer).isUnasked = false
    return code
  },
}

function keep(
  state: State,
  { actor, peer }: Pick<Call, 'actor' | 'peer'>,
  change: Partial<Side>,
): number {
  const own = side(state, actor, peer)
  if (own.state !== 0) return answerCode.not_contact
  Object.assign(own, change, { isUnasked: false })
  return 200
}

type Request = readonly [
  path: string,
  what: { readonly query?: Record<string, number>; readonly body?: object },
]

/** How a call looks on the wire, to users by their IDs. */
const requests: Record<Call['kind'], (call: Call, ids: readonly number[]) => Request> = {
  apply: ({ text, flag }, [, user_id]) => [
    '/roster/apply',
    { body: { user_id, alias: text, reason: text, auth_answer: flag ? rightAnswer : 'Red' } },
  ],
  accept: (_, [, user_id = 0]) => ['/roster/accept', { query: { user_id } }],
  decline: ({ text }, [, user_id]) => ['/roster/decline', { body: { user_id, reason: text } }],
  delete: (_, [, user_id = 0]) => ['/roster/delete', { query: { user_id } }],
  alias: ({ text }, [, user_id]) => ['/roster/ext', { body: { user_id, alias: text } }],
  ext: ({ text }, [, user_id]) => ['/roster/ext', { body: { user_id, ext: text } }],
  mute: ({ flag }, [, user_id]) => ['/roster/ext', { body: { user_id, mute_notification: flag } }],
  block: (_, [, user_id = 0]) => ['/roster/block', { query: { user_id } }],
  unblock: (_, [, user_id = 0]) => ['/roster/unblock', { query: { user_id } }],
  add: (_, [, user_id]) => ['/user/add_roster', { body: { list: [user_id] } }],
  authMode: ({ choice }, [own]) => [
    '/user/settings',
    { body: { user_id: own, auth_mode: choice, auth_answer: rightAnswer } },
  ],
  strangers: ({ flag }, [own]) => [
    '/user/settings',
    { body: { user_id: own, stranger_chat: flag ? 2 : 0 } },
  ],
  send: (_, [, user_id = 0]) => ['/message/send', { body: textTo([user_id], 'hi') }],
}

class ContactWorld extends World {
  constructor(
    private readonly server: InProcessServer,
    people: Person[],
  ) {
    super(server, people)
  }

  /** With the user's own token, except what only the Admin may do. */
  async perform(call: Call): Promise<number> {
    const [path, what] = requests[call.kind](call, [this.id(call.actor), this.id(call.peer)])
    const api = call.kind === 'add' ? this.api(call.actor) : await this.session(call.actor)
    return (await api.call('POST', path, what)).code
  }

  /** All that the users see of each other, in the form of {@link expected}. */
  async observed(): Promise<unknown> {
    return Promise.all(
      users.map(async (user) => {
        const api = this.api(user)
        const [contacts, blocked, entries, received] = await Promise.all([
          api.succeed('GET', '/roster/list'),
          api.succeed('GET', '/roster/blocked_list'),
          api.succeed('POST', '/roster/list', {
            body: { list: this.people.map((person) => person.id) },
          }),
          api.succeed('GET', '/roster/apply/list'),
        ])
        const mayReach = await Promise.all(
          this.people.map((peer) =>
            api.succeed('GET', '/roster/may_message', {
              query: { user_id: this.id(user), roster_id: peer.id },
            }),
          ),
        )
        return {
          contacts: contacts.data,
          blocked: blocked.data,
          entries: entries.data.map(
            ({ relation, alias, ext, mute_notification }: Record<string, unknown>) => [
              relation,
              alias,
              ext,
              mute_notification,
            ],
          ),
          received: received.data
            .map(({ user_id, status, reason }: Record<string, unknown>) => [
              user_id,
              status,
              reason,
            ])
            .sort((a: number[], b: number[]) => (a[0] as number) - (b[0] as number)),
          mayReach: mayReach.map(({ data }) => data),
        }
      }),
    )
  }

  expected(state: State): unknown {
    return users.map((user) => {
      const peers = (accept: (peer: number) => boolean) =>
        users.filter(accept).map((peer) => this.id(peer))
      return {
        contacts: peers((peer) => side(state, user, peer).state === 0),
        blocked: peers((peer) => side(state, user, peer).isBlocked),
        entries: users.map((peer) => {
          const { state: relation, isBlocked, alias, ext, isMuted } = side(state, user, peer)
          return [isBlocked ? blockedRelation : relation, alias, ext, isMuted]
        }),
        received: users.flatMap((applicant) => {
          const request = asked(state, user, applicant)
          return request ? [[this.id(applicant), request.status, request.reason]] : []
        }),
        mayReach: users.map((peer) => codeOfSend(state, user, peer) === 200),
      }
    })
  }

  /** What was recorded must lead to what is there. */
  async checkEvents(state: State): Promise<void> {
    const ids = this.people.map(({ id }) => id)
    const recorded = await recordedEvents(this.server.sql, 'contact.')
    const events = recorded
      .filter(({ actor, users }) => [actor, ...users].some((id) => ids.includes(id)))
      .map((event) => ({ ...event, kind: event.kind.slice('contact.'.length) }))
    const count = (kinds: readonly string[], user: number, peer: number) =>
      events.filter(
        ({ kind, actor, users: to }) =>
          kinds.includes(kind) && actor === this.id(user) && to.includes(this.id(peer)),
      ).length
    for (const [user, peer] of pairs) {
      const balance = (plus: readonly string[], minus: readonly string[]) =>
        count(plus, user, peer) - count(minus, user, peer)
      expect(balance(['blocked'], ['unblocked']), 'blocks').toBe(
        Number(side(state, user, peer).isBlocked),
      )
      const both = [
        [user, peer],
        [peer, user],
      ] as const
      const made = both.reduce(
        (sum, [one, other]) =>
          sum + count(['added', 'accepted'], one, other) - count(['removed'], one, other),
        0,
      )
      expect(made, 'contacts').toBe(Number(side(state, user, peer).state === 0))
    }
  }
}

function step(state: State, call: Call): number {
  return rules[call.kind](state, call)
}

const user = fc.nat(userCount - 1)
const weights: Readonly<Record<Call['kind'], number>> = {
  apply: 10,
  accept: 8,
  decline: 4,
  delete: 4,
  alias: 2,
  ext: 2,
  mute: 2,
  block: 3,
  unblock: 3,
  add: 2,
  authMode: 6,
  strangers: 2,
  send: 4,
}

function callOf(kinds: readonly Call['kind'][]): fc.Arbitrary<Call> {
  const kind = fc.oneof(
    ...kinds.map((each) => ({ weight: weights[each], arbitrary: fc.constant(each) })),
  )
  const text = fc.constantFrom('', 'a', 'b')
  // Mostly the kind that asks, without which there is little to answer.
  const choice = fc.constantFrom(0, 1, 1, 1, 2, 3)
  return fc.record({ kind, actor: user, peer: user, text, flag: fc.boolean(), choice })
}

const kinds = Object.keys(rules) as Call['kind'][]
const histories = fc.array(callOf(kinds), { minLength: 1, maxLength: 40, size: 'max' })
/** Users who ask, so that bursts find applications. */
const beginnings = fc.array(callOf(kinds), { maxLength: 8 })
/** Settings and sends look at several things at different instants, so no single order need explain them. */
const burst = fc.array(
  callOf(kinds.filter((kind) => !['send', 'authMode', 'strangers'].includes(kind))),
  { minLength: 2, maxLength: 5 },
)

describe.each(testBackends())('contacts on $name', (backend) => {
  const server = ownServer(backend)
  let pool: PeoplePool

  beforeAll(async () => {
    pool = new PeoplePool(server, userCount * 20)
  })

  async function newWorld(): Promise<ContactWorld> {
    const world = new ContactWorld(server, await pool.take(userCount))
    // Before anything happens, since a login takes so long that calls would not meet.
    await Promise.all(users.map((user) => world.session(user)))
    return world
  }

  it('contacts: any sequence of calls gives the results of the model', {
    timeout: propertyTimeoutMs,
  }, async () => {
    const property = fc.asyncProperty(histories, async (calls) => {
      const world = await newWorld()
      const state = newState()
      for (const call of calls)
        expect(await world.perform(call), JSON.stringify(call)).toBe(step(state, call))
      expect(await world.observed()).toEqual(world.expected(state))
      await world.checkEvents(state)
    })
    await checkProperty(backend, property)
  })

  it('contacts: simultaneous calls give the results of some order of them', {
    timeout: propertyTimeoutMs,
  }, async () => {
    const property = fc.asyncProperty(
      beginnings,
      fc.array(burst, { minLength: 1, maxLength: 4 }),
      async (beginning, bursts) => {
        const world = await newWorld()
        let state = newState()
        for (const call of beginning)
          expect(await world.perform(call), JSON.stringify(call)).toBe(step(state, call))
        for (const calls of bursts) {
          const codes = await Promise.all(calls.map((call) => world.perform(call)))
          const answered = calls.map((call, index) => [call, codes[index] as number] as const)
          const observed = await world.observed()
          const explained = explanations(state, answered, step).map((after) => ({
            after,
            expected: world.expected(after),
          }))
          expect(
            explained.map(({ expected }) => expected),
            JSON.stringify(answered),
          ).toContainEqual(observed)
          const same = explained.find(
            ({ expected }) => JSON.stringify(expected) === JSON.stringify(observed),
          )
          state = same?.after ?? state
        }
        await world.checkEvents(state)
      },
    )
    await checkProperty(backend, property)
  })

  it('contacts: the integrity check finds no fault after the model', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
