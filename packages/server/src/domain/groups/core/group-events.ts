import { groupType } from '@hermod/protocol'
import { eventDefinitions, type KindWith } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import type { LastStatement } from '../../../db/procedure.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { AppendedEvent } from '../../../outbox/user-changes.js'
import type { Group, GroupKey } from './group-model.js'

interface GroupEventsOptions {
  readonly groups: {
    /** Returns the statement that stores new versions of locked groups. */
    setVersions(versions: readonly VersionedGroup[]): LastStatement
  }
  readonly outbox: Outbox
}

/** A group with the number of its last change. */
export type VersionedGroup = GroupKey & Pick<Group, 'version'>

/**
 * Appends the events of groups with the version of their group: each counted event raises it by
 * one. The version is stored with the commit, so the transaction must have locked the group.
 */
export class GroupEvents {
  readonly #versions = new WeakMap<Tx, Map<string, VersionedGroup>>()

  constructor(private readonly options: GroupEventsOptions) {}

  /** @param group as the transaction has read it under its lock */
  append(
    tx: Tx,
    group: VersionedGroup & Pick<Group, 'type'>,
    ...events: readonly AppendedEvent[]
  ): void {
    for (const event of events) {
      const version = this.#take(tx, group, isCountedEvent(event, group.type))
      const payload = { ...event.payload, version }
      this.options.outbox.append(tx, { ...event, payload } as AppendedEvent)
    }
  }

  /** Returns the version that the group has after the events so far. */
  versionOf(tx: Tx, { appId, groupId, version }: VersionedGroup): number {
    return this.#versions.get(tx)?.get(`${appId}/${groupId}`)?.version ?? version
  }

  #take(tx: Tx, { appId, groupId, version: before }: VersionedGroup, isCounted: boolean): number {
    const version = this.versionOf(tx, { appId, groupId, version: before }) + Number(isCounted)
    if (isCounted) this.#changedIn(tx).set(`${appId}/${groupId}`, { appId, groupId, version })
    return version
  }

  #changedIn(tx: Tx): Map<string, VersionedGroup> {
    const known = this.#versions.get(tx)
    if (known) return known
    const changed = new Map<string, VersionedGroup>()
    this.#versions.set(tx, changed)
    tx.beforeCommit(async () => [this.options.groups.setVersions([...changed.values()])])
    return changed
  }
}

function isCountedEvent({ kind }: AppendedEvent, type: number): boolean {
  const { raisesVersion } = eventDefinitions[kind as KindWith<{ raisesVersion: string }>]
  return (
    raisesVersion === 'always' ||
    (raisesVersion === 'outsideChatrooms' && type !== groupType.chatroom)
  )
}
