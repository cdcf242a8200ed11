/** Many callers about groups at once, and what is looked at after each storm. */
import { type Answer, type Api, isFullRun, type Json } from '@hermod/testkit'
import { expect } from 'vitest'
import { answerCode } from '../answer-codes.js'
import { type Person, registerPeople } from '../contacts.js'
import { Random } from '../random.js'
import type { Watched } from '../watched-server.js'
import { GroupWatch } from './group-invariants.js'
import { aGroup, type GroupOptions, groupCall } from './groups.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
/** HERMOD_TEST_ROUNDS overrides the rounds of each storm. */
const ownRounds = process.env.HERMOD_TEST_ROUNDS
const fullRounds = 6
const shortRounds = 1
const personCount = 16

export type Calling = () => Promise<Answer>

/** A group that takes everybody who applies, and the text of a QR code of it. */
export interface OpenGroup {
  readonly group: number
  readonly qrInfo: string
}

export class GroupStorms {
  readonly random = new Random(seed)
  readonly admin: Api
  readonly #watch: GroupWatch
  readonly #counts = { storms: 0, calls: 0, faults: 0 }

  private constructor(
    readonly watched: Watched,
    readonly people: readonly Person[],
  ) {
    this.admin = watched.server.api.admin()
    this.#watch = new GroupWatch(watched)
  }

  static async on(watched: Watched): Promise<GroupStorms> {
    return new GroupStorms(watched, await registerPeople(watched.server, personCount))
  }

  /** @returns what was done, in figures */
  report(): string {
    const { storms, calls, faults } = this.#counts
    return `seed ${seed}, ${storms} storms, ${calls} calls, ${faults} faults`
  }

  person(index: number): Person {
    return this.people[index] as Person
  }

  /**
   * Calls that are sent in a random order; none may fail because of the service itself.
   * @returns their answers, in the order given
   */
  async atOnce(...calls: readonly Calling[]): Promise<Answer[]> {
    this.#counts.storms++
    this.#counts.calls += calls.length
    const answers: Answer[] = []
    const sent = this.shuffled([...calls.entries()]).map(async ([index, call]) => {
      answers[index] = await call()
    })
    await Promise.all(sent)
    const broken = answers.filter(
      ({ code }) => code >= answerCode.internal_error || code === answerCode.storage_failed,
    )
    expect(broken.map(({ text }) => text)).toEqual([])
    return answers
  }

  /** @param round returns the groups that it was about, which must be sound afterwards */
  async everyRound(round: () => Promise<readonly number[]>): Promise<void> {
    const rounds = Number(ownRounds ?? (isFullRun ? fullRounds : shortRounds))
    for (let count = 0; count < rounds; count++) {
      const faults = await this.#watch.faults(await round(), this.people)
      this.#counts.faults += faults.length
      expect(faults).toEqual([])
    }
  }

  async anOpenGroup(owner: Person, options: GroupOptions = {}): Promise<OpenGroup> {
    const group = await aGroup(owner, options)
    await groupCall(owner.api, '/group/settings/require_admin_approval', group, {
      apply_approval: 0,
    })
    const { data } = await owner.api.succeed('GET', '/group/qrcode/sign', {
      query: { group_id: group },
    })
    return { group, qrInfo: data.qr_info }
  }

  /** The four ways of one user into a group. */
  waysOf({ id, api }: Person, { group, qrInfo: qr_info }: OpenGroup): Calling[] {
    const user_list = [id]
    return [
      () => groupCall(api, '/group/apply', group),
      () => groupCall(this.admin, '/group/invite', group, { user_list }),
      () => groupCall(this.admin, '/group/admin/member_join', group, { user_list }),
      () => api.call('POST', '/group/qrcode/invite', { body: { qr_info } }),
    ]
  }

  /** People who join in one way each, all ways in turn. */
  comers(people: readonly Person[], group: OpenGroup): Calling[] {
    return people.map((each, index) => {
      const ways = this.waysOf(each, group)
      return ways[index % ways.length] as Calling
    })
  }

  shuffled<T>(items: readonly T[]): T[] {
    const keyed = items.map((item) => ({ item, key: this.random.next() }))
    return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item)
  }

  /** IDs of so many people. */
  some(count: number, people = this.people): number[] {
    return this.shuffled(people)
      .slice(0, count)
      .map(({ id }) => id)
  }

  /** Any call by anybody. */
  anything(group: number): Calling {
    const { random, people, admin } = this
    const [caller, user] = [random.pick(people), random.pick(people)]
    const api = random.pick([
      caller.api,
      caller.api,
      admin,
      this.watched.server.api.admin({ groupId: group }),
    ])
    const user_list = this.some(4)
    const approval = random.chance(0.7)
    const post =
      (path: string, params: object = {}, by = api) =>
      () =>
        groupCall(by, path, group, params)
    return random.pick([
      post('/group/admin/member_join', { user_list }),
      post('/group/admin/member_join', { user_list }),
      post('/group/invite', { user_list }),
      post('/group/apply', {}, caller.api),
      post('/group/apply', {}, caller.api),
      post('/group/apply/handle', { user_id: user.id, approval }),
      post('/group/apply/handle', { user_id: user.id, approval }),
      post('/group/invite/handle', { user_id: caller.id, approval }, caller.api),
      post('/group/invite/handle', { user_id: caller.id, approval }, caller.api),
      post('/group/kick', { user_list }),
      post('/group/ban', { user_list, duration: 60 }),
      post('/group/unban', { user_list }),
      post('/group/block', { user_list: [user.id] }),
      post('/group/unblock', { user_list }),
      post('/group/admin/add', { user_list }),
      post('/group/admin/remove', { user_list }),
      post('/group/transfer', { new_owner: user.id }),
      post('/group/settings/require_admin_approval', { apply_approval: random.integer(0, 1) }),
      post('/group/settings/capacity', { value: random.integer(6, 20) }),
      post('/group/display_name', { value: 'x' }, caller.api),
      () => caller.api.call('DELETE', '/group/leave', { query: { group_id: group } }),
    ])
  }
}

/** For the whole and for each of its users. */
export function hasSucceeded(answer: Answer): boolean {
  return refusalOf(answer) === null
}

export function successes(answers: readonly Answer[]): number {
  return answers.filter(hasSucceeded).length
}

/**
 * What a call about one user was refused with: a code, or the reason beside the user; null when it
 * was not.
 */
export function refusalOf({ code, envelope: { data } }: Answer): number | string | null {
  if (code !== 200) return code
  const results: Json[] = Array.isArray(data) ? data : (data?.list ?? [])
  return results.find(({ result }) => result === 'fail')?.reason ?? null
}
