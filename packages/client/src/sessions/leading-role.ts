import type { Command } from '../core/inputs.js'
import type { StoreFailure } from '../ports/store.js'
import type { CommandOutcome, Leader, StartLeader } from '../runtime/leader.js'
import { storedState } from '../stores/tables.js'
import type { ChannelMessage, LeaderMessage } from './channel.js'
import { isEmptyList, standingKey } from './pending-commands.js'
import type { Role, RoleContext } from './role.js'

/** Dependencies of a leader beyond the context of its tab. */
export interface LeadingOptions {
  readonly generation: number
  readonly deviceGuid?: string
  readonly token?: string
  readonly isDurable: boolean
  readonly startLeader: StartLeader
  readonly failed: (failure: StoreFailure) => void
}

/** Outcomes that are kept for tabs that have missed them. */
const maxOutcomes = 1_000

/** Starts the core in this tab, and publishes what it commits. The state has to be that of the store. */
export function lead(context: RoleContext, options: LeadingOptions): Role {
  const { tab, state, commands, store, isWanted } = context
  const { generation, startLeader, failed, isDurable, deviceGuid, token } = options
  const tabs = new Set<string>()
  const wanting = new Set<string>()
  /** Standing commands of other tabs by caller, to end them with their tab. */
  const standing = new Map<string, Command>()
  const running = new Set<string>()
  const outcomes = new Map<string, CommandOutcome>()

  const leader: Leader = startLeader({
    state: storedState(state.state),
    store,
    generation,
    isDurable,
    ...(deviceGuid !== undefined && { deviceGuid }),
    ...(token !== undefined && { token }),
    listener: {
      committed(batch) {
        state.apply(batch)
        publish({ type: 'batch', generation, batch })
      },
      live(live) {
        state.setLive(live)
        publish({ type: 'live', generation, live })
      },
      event(event) {
        state.event(event)
        publish({ type: 'event', generation, event })
      },
      done,
      failed,
    },
  })
  let isConnected = false
  here()
  connectOrNot()
  for (const command of commands.forNewLeader()) execute(command)

  /** Posts to the other tabs, if there are any: every message is copied. */
  function publish(message: LeaderMessage): void {
    if (tabs.size > 0) context.post(message)
  }

  function here(to?: string, pending: readonly string[] = []): void {
    context.post({
      type: 'here',
      generation,
      ...(to !== undefined && { to }),
      commit: state.commit,
      live: state.state.live,
      missing: pending.filter((id) => !running.has(id) && !outcomes.has(id)),
    })
  }

  function execute({ id, command }: { readonly id: string; readonly command: Command }): void {
    const key = standingKey(command)
    if (key !== undefined && isEmptyList(command)) standing.delete(key)
    else if (key !== undefined) standing.set(key, command)
    commands.taken(id)
    running.add(id)
    leader.execute(id, command)
  }

  function done(id: string, outcome: CommandOutcome): void {
    running.delete(id)
    if (tabOf(id) === tab) {
      commands.settle(id, outcome)
      return
    }
    outcomes.set(id, outcome)
    const [oldest] = outcomes.keys()
    if (outcomes.size > maxOutcomes && oldest !== undefined) outcomes.delete(oldest)
    postOutcome(id, outcome)
  }

  function postOutcome(id: string, outcome: CommandOutcome): void {
    publish({ type: 'done', generation, to: tabOf(id), id, outcome })
  }

  /**
   * Tells the core only of changes: a connection that the server has ended comes back only when the
   * app says so.
   */
  function connectOrNot(): void {
    const isNeeded = isWanted() || wanting.size > 0
    if (isNeeded === isConnected) return
    isConnected = isNeeded
    if (isNeeded) leader.connect()
    else leader.disconnect()
  }

  function connect(): void {
    isConnected = true
    leader.connect()
  }

  function forget(other: string): void {
    tabs.delete(other)
    wanting.delete(other)
    connectOrNot()
    for (const [key, command] of standing) {
      if (!('caller' in command) || command.caller.split(' ', 1)[0] !== other) continue
      standing.delete(key)
      leader.execute(`${tab}.end ${key}`, { ...command, ...emptyLists })
    }
  }

  return {
    execute,
    cancel: (id) => leader.cancel(id),
    wantedChanged: () => (isWanted() ? connect() : connectOrNot()),
    stop: () => leader.stop(),
    receive(message: ChannelMessage) {
      const { from } = message
      switch (message.type) {
        case 'ask':
          tabs.add(from)
          if (message.isWanted) wanting.add(from)
          else wanting.delete(from)
          connectOrNot()
          for (const id of message.pending) {
            const outcome = outcomes.get(id)
            if (outcome) postOutcome(id, outcome)
          }
          here(from, message.pending)
          break
        case 'command': {
          tabs.add(from)
          const { id } = message
          const outcome = outcomes.get(id)
          if (outcome) postOutcome(id, outcome)
          else if (!running.has(id)) execute(message)
          publish({ type: 'taken', generation, to: from, id })
          break
        }
        case 'cancel':
          running.delete(message.id)
          leader.cancel(message.id)
          break
        case 'visible':
          leader.wakeup()
          break
        case 'connect':
          wanting.add(from)
          connect()
          break
        case 'bye':
          forget(from)
      }
    },
  }
}

const emptyLists = { keys: [], userIds: [], logs: [], replies: [] }

const tabOf = (id: string) => id.slice(0, id.indexOf('.'))
