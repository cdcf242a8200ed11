/** The import of a staged file: users, groups, messages in their order, members. */
import {
  errorCatalogue,
  exportUsers,
  importGroups,
  importMembers,
  importMessages,
  importUsers,
} from '@hermod/protocol'
import { callBatches } from '../call-batches.js'
import type { CallOperation } from '../operations.js'
import {
  groupItems,
  memberItems,
  messageItems,
  type PossibleItem,
  type StagedItem,
  userItems,
} from './stream-calls.js'
import type { StagedRow, StreamStaging } from './stream-staging.js'

export interface ImportOptions {
  readonly staging: StreamStaging
  readonly call: CallOperation
  readonly appId: string
  readonly source: string
  readonly issuer: string
  /** @param by how many items are done */
  progress(text: string, by: number): void
}

/** Items that the service has stored now, that it had before, and that it refused. */
export interface Outcomes {
  stored: number
  known: number
  failed: number
}

/** A result of one item, of any of the operations. */
interface ItemResult {
  readonly result: string
  readonly code?: number | undefined
  readonly reason?: string | undefined
}

const most = { users: 500, groups: 500, messages: 1_000, members: 1_000 } as const
const membersOfReaction = 4
const usersPerPage = 500

export class StreamImport {
  constructor(private readonly options: ImportOptions) {}

  /** Imports the users and remembers their IDs. */
  async users(): Promise<Outcomes> {
    const { staging, call, appId: app_id, issuer } = this.options
    const outcomes = newOutcomes()
    const refused: { row: StagedRow; result: ItemResult }[] = []
    for (const batch of callBatches(userItems(staging, issuer), {
      items: most.users,
      nested: () => 4,
    })) {
      const users = batch.map(({ body }) => body)
      const results = await call(importUsers, { app_id, users })
      this.options.progress('users', batch.length)
      for (const [at, { row }] of batch.entries()) {
        const result = results[at]
        if (result?.user_id !== undefined) {
          this.#setUser(row, result.user_id)
          outcomes[result.result === 'created' ? 'stored' : 'known']++
        } else refused.push({ row, result: result ?? noResult })
      }
    }
    if (refused.length > 0) await this.#findUsers()
    for (const { row, result } of refused) {
      const found = staging.get('select user_id from users where rowid = ?', row.rowid as number)
      if (found?.user_id !== null) outcomes.known++
      else this.#fail(outcomes, 'user', row, result)
    }
    return outcomes
  }

  /** Imports the groups and remembers their IDs. */
  async groups(): Promise<Outcomes> {
    const { staging } = this.options
    const items = this.#withBody('channel', groupItems(staging))
    return this.#import('channel', callBatches(items, { items: most.groups }), {
      send: async (groups) => (await this.#call(importGroups, { groups })).results,
      stored: (row, { group_id }) =>
        staging.setId('channel', Number(group_id), { rowid: Number(row.rowid) }),
    })
  }

  async messages(): Promise<Outcomes> {
    const { staging } = this.options
    const nested = ({ reactions }: StagedItem['body']) =>
      3 + (Array.isArray(reactions) ? reactions.length * membersOfReaction : 0)
    const items = this.#withBody('message', messageItems(staging))
    return this.#import('message', callBatches(items, { items: most.messages, nested }), {
      send: async (messages) => (await this.#call(importMessages, { messages })).results,
      stored: ({ rowid }, { result, left_out = [] }) => {
        if (result === 'known') staging.run('insert into known values (?)', rowid)
        for (const part of left_out)
          staging.note(`${part.split(':')[0]} of a message was not taken by the service`)
      },
    })
  }

  /** Imports the members with their positions; admins beyond the limit of a group become members. */
  async members(): Promise<Outcomes> {
    const items = this.#withBody('member', memberItems(this.options.staging))
    return this.#import('member', callBatches(items, { items: most.members }), {
      send: async (members) => {
        const { results } = await this.#call(importMembers, { members })
        return this.#withoutAdmins(members, results)
      },
      stored: () => {},
    })
  }

  async #withoutAdmins(
    members: readonly StagedItem['body'][],
    results: readonly ItemResult[],
  ): Promise<readonly ItemResult[]> {
    const refused = results.flatMap(({ code }, at) =>
      code === errorCatalogue.admin_limit_reached.code ? [at] : [],
    )
    if (refused.length === 0) return results
    const again = refused.map((at) => ({ ...members[at], role: 0 }))
    const answer = await this.#call(importMembers, { members: again })
    const changed = [...results]
    for (const [index, at] of refused.entries()) changed[at] = answer.results[index] ?? noResult
    this.options.staging.note(
      'an admin beyond the limit of a group becomes a member',
      refused.length,
    )
    return changed
  }

  async #import<R extends ItemResult>(
    type: string,
    batches: Iterable<readonly StagedItem[]>,
    work: {
      send(bodies: readonly StagedItem['body'][]): Promise<readonly R[]>
      /** Takes an item that the service has, now or from before. */
      stored(row: StagedRow, result: R): void
    },
  ): Promise<Outcomes> {
    const outcomes = newOutcomes()
    for (const batch of batches) {
      const results = await work.send(batch.map(({ body }) => body))
      this.options.staging.together(() => {
        for (const [at, { row }] of batch.entries()) {
          const result = results[at]
          if (result === undefined || result.result === 'failed')
            this.#fail(outcomes, type, row, result ?? noResult)
          else {
            outcomes[result.result === 'known' ? 'known' : 'stored']++
            work.stored(row, result)
          }
        }
      })
      this.options.progress(`${type}s`, batch.length)
    }
    return outcomes
  }

  /** Leaves out the items of users and groups that could not be imported. */
  *#withBody(type: string, items: Iterable<PossibleItem>): Generator<StagedItem> {
    for (const { row, body } of items)
      if (body !== null) yield { row, body }
      else this.#leaveOut(type, row, 'its user or group could not be imported')
  }

  #call<P, D>(operation: Parameters<typeof this.options.call<P, D>>[0], params: object) {
    const { call, appId: app_id, source } = this.options
    return call(operation, { app_id, source, ...params })
  }

  /** Finds the users of the subjects among all users: they have other names here. */
  async #findUsers(): Promise<void> {
    const { staging, call, appId: app_id, issuer } = this.options
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: {
        users: readonly {
          user_id: number | bigint
          identities: readonly { issuer: string; subject: string }[]
        }[]
        next_cursor: string
      } = await call(exportUsers, { app_id, cursor, limit: usersPerPage })
      for (const { user_id, identities } of page.users)
        for (const identity of identities)
          if (identity.issuer === issuer)
            staging.setId('user', Number(user_id), { subject: identity.subject })
      cursor = page.next_cursor === '' ? null : page.next_cursor
    }
  }

  #setUser({ rowid }: StagedRow, userId: number | bigint): void {
    this.options.staging.setId('user', Number(userId), { rowid: Number(rowid) })
  }

  #fail(outcomes: Outcomes, type: string, row: StagedRow, { reason = '' }: ItemResult): void {
    outcomes.failed++
    this.#leaveOut(type, row, reason)
  }

  #leaveOut(type: string, { line }: StagedRow, reason: string): void {
    this.options.staging.leaveOut({ type, line: Number(line), reason }, true)
  }
}

const noResult: ItemResult = {
  result: 'failed',
  reason: 'the server answered less than it was asked; is it another version?',
}

function newOutcomes(): Outcomes {
  return { stored: 0, known: 0, failed: 0 }
}
