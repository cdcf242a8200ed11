import type {
  groupTypes,
  joinApprovals,
  memberRoles,
  muteModes,
  pushModes,
} from '../model/words.js'
import type { Conversation } from './conversation.js'
import type { CallOptions, View } from './view.js'

/** The type of a group, fixed when it is made. */
export type GroupType = (typeof groupTypes)[number]

/** The role of a member. */
export type MemberRole = (typeof memberRoles)[number]

/** The answer to requests to join: all agreed, by owner and admins, or all rejected. */
export type JoinApproval = (typeof joinApprovals)[number]

/** Messages of a group that the own user receives: all, all in silence, or none. */
export type MuteMode = (typeof muteModes)[number]

/** Messages of a group that are pushed to the own user. */
export type PushMode = (typeof pushModes)[number]

/** A group with its settings. */
export interface GroupInfo {
  readonly id: number
  readonly name: string
  /** Address of the picture, see {@link Client.fileUrl}; '' for none. */
  readonly avatar: string
  readonly description: string
  /** Data of the app; '' for none. */
  readonly ext: string
  readonly type: GroupType
  readonly ownerId: number
  readonly memberCount: number
  /** The most members. */
  readonly capacity: number
  readonly isDissolved: boolean
  /**
   * The end of a ban of all but owner and admins, milliseconds since 1970 by the server's clock; 0: no
   * ban; infinite: until it is lifted.
   */
  readonly bannedUntil: number
  readonly joinApproval: JoinApproval
  /** Members may invite others. */
  readonly mayMembersInvite: boolean
  /** Members may change name, picture, description and `ext`. */
  readonly mayMembersEdit: boolean
  /** New members see the earlier messages. */
  readonly isHistoryVisible: boolean
  /** Members do not see the names of one another in this group. */
  readonly isMemberInfoHidden: boolean
  /** Messages can ask for read receipts. */
  readonly hasReadReceipts: boolean
  /** The messages that the own user receives. */
  readonly muteMode: MuteMode
  /** The pushes that the own user receives. */
  readonly pushMode: PushMode
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Milliseconds since 1970. */
  readonly updatedAt: number
}

/** A member of a group. */
export interface GroupMember {
  readonly userId: number
  /** The name in this group; '' for none, or hidden. */
  readonly displayName: string
  readonly role: MemberRole
  /** Milliseconds since 1970. */
  readonly joinedAt: number
  /**
   * The end of the ban of the member, milliseconds since 1970 by the server's clock; 0: no ban;
   * infinite: until it is lifted.
   */
  readonly bannedUntil: number
  /** True: a program. */
  readonly isBot: boolean
}

/** Changes of a group; absent members stay as they are. */
export type GroupChanges = Partial<
  Pick<
    GroupInfo,
    | 'name'
    | 'description'
    | 'ext'
    | 'capacity'
    | 'joinApproval'
    | 'mayMembersInvite'
    | 'mayMembersEdit'
    | 'isHistoryVisible'
    | 'isMemberInfoHidden'
    | 'hasReadReceipts'
  >
>

/** An invitation that the own user got. */
export interface GroupInvitation {
  readonly groupId: number
  readonly inviterId: number
  readonly reason: string
  /** Milliseconds since 1970, by the server's clock. */
  readonly expiresAt: number
}

/** A request to join a group, which the own user may answer. */
export interface JoinRequest {
  readonly groupId: number
  readonly userId: number
  readonly reason: string
  /** Milliseconds since 1970, by the server's clock. */
  readonly expiresAt: number
}

/** An announcement to a group. */
export interface Announcement {
  readonly id: number
  readonly groupId: number
  readonly authorId: number
  readonly title: string
  readonly text: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** A file that is shared in a group. */
export interface SharedFile {
  readonly id: number
  readonly groupId: number
  readonly uploaderId: number
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** The media type, as it was shared; '' for none. */
  readonly type: string
  /** Its address, see {@link Client.fileUrl}. */
  readonly url: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** Groups of the user. */
export interface Groups {
  /** Oldest first; undefined: not read yet. Groups that are not read yet are left out. */
  readonly list: View<readonly GroupInfo[] | undefined>
  /** Invitations that wait for an answer, newest first; undefined: not read yet. */
  readonly invitations: View<readonly GroupInvitation[] | undefined>
  /**
   * Requests to join groups of which the own user is owner or admin, newest first; undefined: not read
   * yet.
   */
  readonly joinRequests: View<readonly JoinRequest[] | undefined>
  /** @returns the ID of the new group */
  create(
    group: {
      readonly name: string
      readonly type?: GroupType
      readonly userIds?: readonly number[]
      readonly description?: string
    },
    options?: CallOptions,
  ): Promise<number>
}

/** A handle on a group. Two calls for the same one return the same handle. */
export interface Group {
  readonly id: number
  readonly conversation: Conversation
  /** Undefined: not read yet, or not visible. */
  readonly info: View<GroupInfo | undefined>
  readonly members: View<readonly GroupMember[] | undefined>
  /** Asks to become a member; `joinApproval` decides what happens. */
  join(options?: CallOptions & { readonly reason?: string }): Promise<void>
  leave(options?: CallOptions): Promise<void>
  acceptInvitation(options?: CallOptions): Promise<void>
  declineInvitation(options?: CallOptions): Promise<void>
  acceptRequest(userId: number, options?: CallOptions): Promise<void>
  declineRequest(userId: number, options?: CallOptions): Promise<void>
  /**
   * Invites users; those who want no question join at once.
   * @returns users that were not invited; empty: all were
   */
  invite(
    userIds: readonly number[],
    options?: CallOptions & { readonly reason?: string },
  ): Promise<readonly NotDone[]>
  /** @returns users that were not removed; empty: all were */
  kick(userIds: readonly number[], options?: CallOptions): Promise<readonly NotDone[]>
  /** @returns users that were not made admins; empty: all were */
  addAdmins(userIds: readonly number[], options?: CallOptions): Promise<readonly NotDone[]>
  /** @returns admins that stayed admins; empty: none did */
  removeAdmins(userIds: readonly number[], options?: CallOptions): Promise<readonly NotDone[]>
  /** Passes the group to another member. */
  transfer(userId: number, options?: CallOptions): Promise<void>
  /**
   * Stops members from sending.
   * @param options.minutes for how long; absent: until the ban is lifted
   * @returns users that were not banned; empty: all were
   */
  ban(
    userIds: readonly number[],
    options?: CallOptions & { readonly minutes?: number },
  ): Promise<readonly NotDone[]>
  /** @returns users whose ban was not lifted; empty: all were */
  unban(userIds: readonly number[], options?: CallOptions): Promise<readonly NotDone[]>
  /**
   * Stops all members but owner and admins from sending.
   * @param options.minutes for how long; absent: until the ban is lifted
   */
  banAll(options?: CallOptions & { readonly minutes?: number }): Promise<void>
  unbanAll(options?: CallOptions): Promise<void>
  /** Changes members one after the other; the first one that is refused ends it. */
  update(changes: GroupChanges, options?: CallOptions): Promise<void>
  /** @param picture null: none */
  setAvatar(picture: File | Blob | null, options?: CallOptions): Promise<void>
  /** Sets the name of the own user in this group; '' for none. */
  setDisplayName(name: string, options?: CallOptions): Promise<void>
  setMuteMode(mode: MuteMode, options?: CallOptions): Promise<void>
  setPushMode(mode: PushMode, options?: CallOptions): Promise<void>
  /** Returns the announcements, oldest first: the last 500. */
  announcements(options?: CallOptions): Promise<readonly Announcement[]>
  announce(
    announcement: { readonly title: string; readonly text: string },
    options?: CallOptions,
  ): Promise<Announcement>
  deleteAnnouncement(id: number, options?: CallOptions): Promise<void>
  /** Returns the shared files, oldest first: at most 1,000. */
  sharedFiles(options?: CallOptions): Promise<readonly SharedFile[]>
  /** Uploads and shares a file. @param options.name for a Blob that has none */
  shareFile(
    file: File | Blob,
    options?: CallOptions & { readonly name?: string },
  ): Promise<SharedFile>
  renameFile(id: number, name: string, options?: CallOptions): Promise<void>
  /** @returns files that were not deleted; empty: all were */
  deleteFiles(ids: readonly number[], options?: CallOptions): Promise<readonly NotDone[]>
  destroy(options?: CallOptions): Promise<void>
}

/** A user or file for which an operation on several failed. */
export interface NotDone {
  readonly id: number
  /** A sentence for people. */
  readonly reason: string
}
