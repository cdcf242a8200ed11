import type { Store } from '../ports/store.js'
import type { ChannelMessage, LeaderMessage, TabMessage } from './channel.js'
import type { PendingCommand, PendingCommands } from './pending-commands.js'
import type { SessionState } from './session-state.js'

/** Dependencies of both roles of a tab. */
export interface RoleContext {
  readonly tab: string
  readonly state: SessionState
  readonly commands: PendingCommands
  readonly store: Store
  /** True: the app wants a connection in this tab. */
  readonly isWanted: () => boolean
  readonly post: (message: LeaderMessage | TabMessage) => void
  readonly onError: (error: unknown) => void
}

/** The role of a tab: it leads, or it follows the tab that leads. */
export interface Role {
  execute(command: PendingCommand): void
  cancel(id: string): void
  /** The app has called `connect` or `disconnect`: `isWanted` says which. */
  wantedChanged(): void
  receive(message: ChannelMessage): void
  /** Ends the role at once. */
  stop(): void
}
