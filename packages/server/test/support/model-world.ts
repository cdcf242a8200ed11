/**
 * What the models of property tests share: users by number, who they are to the service, and how
 * they call it.
 */
import { type Api, sharedPassword } from '@hermod/testkit'
import type { Person } from './contacts.js'

/** The number of the system among the users of a model. */
export const system = -1
const systemId = 0

/** The users of one history; what is known and expected of them is the model's own. */
export class World {
  readonly #tokens = new Map<string, Promise<string>>()

  /** @param service gives its caller for each call anew: another process may answer by then */
  constructor(
    protected readonly service: { readonly api: Api },
    readonly people: Person[],
  ) {}

  id(user: number): number {
    return user === system ? systemId : this.#person(user).id
  }

  /** @throws Error when it is no ID of this history */
  userOf(id: number | bigint): number {
    if (Number(id) === systemId) return system
    const user = this.people.findIndex((person) => person.id === Number(id))
    if (user < 0) throw new Error(`user ${id} has no part in this history`)
    return user
  }

  /** Calls by the Admin: for a user, or as the system; with a group_id header as an admin of the group. */
  api(user: number, inGroup: { readonly groupId?: number } = {}): Api {
    const { api } = this.service
    return api.admin(user === system ? inGroup : { ...inGroup, userId: this.id(user) })
  }

  /** Calls with a token of the user. */
  session(user: number): Promise<Api> {
    return this.#withToken(user)
  }

  /** Calls with a token of a device of the user: what it reads is delivered. */
  device(user: number): Promise<Api> {
    return this.#withToken(user, 'phone')
  }

  async #withToken(user: number, device?: string): Promise<Api> {
    const key = `${user} ${device}`
    const token = this.#tokens.get(key) ?? this.#login(user, device)
    this.#tokens.set(key, token)
    return this.service.api.as(await token)
  }

  async #login(user: number, device?: string): Promise<string> {
    const account = { ...this.#person(user), password: sharedPassword }
    const { api } = this.service
    return (await (device === undefined ? api.sessionOf(account) : api.login(account, device)))
      .token
  }

  #person(user: number): Person {
    const person = this.people[user]
    if (!person) throw new Error(`no user ${user} in this history`)
    return person
  }
}
