import type { contactApprovals, relations, strangerChats } from '../model/words.js'
import type { CallOptions, View } from './view.js'

/** The relation of a user to the own one; `former`: a contact that was removed. */
export type Relation = (typeof relations)[number]

/**
 * The answer of a user to contact requests: at once, by consent, by the right answer to a question,
 * or none.
 */
export type ContactApproval = (typeof contactApprovals)[number]

/** A user as the own user sees them. */
export interface User {
  readonly id: number
  /** Alias, else nickname, else username. */
  readonly name: string
  readonly username: string
  readonly nickname: string
  /** The name that the own user gave them; '' for none. */
  readonly alias: string
  /** Address of the picture, see {@link Client.fileUrl}; '' for none. */
  readonly avatar: string
  readonly description: string
  /** Data that the user shows to everyone. */
  readonly publicInfo: string
  readonly relation: Relation
  /** The same as a relation `contact`. */
  readonly isContact: boolean
  /** The same as a relation `blocked`. */
  readonly isBlocked: boolean
  /** The own user has silenced their messages. */
  readonly isMuted: boolean
  readonly isOnline: boolean
  readonly contactApproval: ContactApproval
  /** The question of the approval `question`. */
  readonly contactQuestion: string
  /** True: a program. */
  readonly isBot: boolean
}

/** The profile of the own user. */
export interface Profile {
  readonly id: number
  readonly username: string
  readonly nickname: string
  /** Address of the picture, see {@link Client.fileUrl}; '' for none. */
  readonly avatar: string
  readonly description: string
  readonly email: string
  readonly mobile: string
  /** Data that everyone sees. */
  readonly publicInfo: string
  /** Data that the own user alone sees. */
  readonly privateInfo: string
}

/** Changes of the own profile; absent members stay as they are. */
export type ProfileChanges = Partial<
  Pick<Profile, 'nickname' | 'description' | 'publicInfo' | 'privateInfo'>
>

/** Settings of the own user, the same on all devices. Hours are those of the application, 0 to 23. */
export interface UserSettings {
  /** The answer to contact requests. */
  readonly contactApproval: ContactApproval
  /** The question of the approval `question`, and its answer. */
  readonly contactQuestion: string
  readonly contactAnswer: string
  /** The right of users who are no contacts to write; `unset`: that of the application. */
  readonly strangerChat: (typeof strangerChats)[number]
  /** Invitations to groups wait for an answer. */
  readonly asksBeforeGroups: boolean
  readonly isPushOff: boolean
  /** Pushes show no text. */
  readonly isPushTextHidden: boolean
  /** No pushes from this hour on … */
  readonly noPushFromHour: number
  /** … to this one; equal hours: at all times. */
  readonly noPushToHour: number
  /** The name of the own user in pushes to others; '' for the nickname. */
  readonly pushName: string
  readonly isSoundOff: boolean
  readonly isVibrationOn: boolean
  /** No reminders of the app from this hour on … */
  readonly silenceFromHour: number
  /** … to this one. */
  readonly silenceToHour: number
  /** Files are downloaded without a click. */
  readonly isDownloadAutomatic: boolean
}

/** A request of another user to become a contact. */
export interface ContactRequest {
  readonly userId: number
  readonly reason: string
  /** Milliseconds since 1970, by the server's clock. */
  readonly expiresAt: number
}

/** Contacts of the user. */
export interface Contacts {
  /** By name; undefined: not read yet. */
  readonly list: View<readonly User[] | undefined>
  /** Requests that wait for an answer; undefined: not read yet. */
  readonly requests: View<readonly ContactRequest[] | undefined>
  /** Requests to become a contact. */
  add(userId: number, options?: CallOptions & { readonly reason?: string }): Promise<void>
  accept(userId: number, options?: CallOptions): Promise<void>
  decline(userId: number, options?: CallOptions & { readonly reason?: string }): Promise<void>
  remove(userId: number, options?: CallOptions): Promise<void>
  block(userId: number, options?: CallOptions): Promise<void>
  unblock(userId: number, options?: CallOptions): Promise<void>
  setAlias(userId: number, alias: string, options?: CallOptions): Promise<void>
  /** @returns undefined: no such user, also for a text that is longer than a username can be */
  findByName(username: string, options?: CallOptions): Promise<User | undefined>
}
