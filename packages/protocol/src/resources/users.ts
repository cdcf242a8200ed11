import { authMode, meaningsOf, strangerChat, userImportResults, userStatus } from '../enums.js'
import { hour, instant, resource } from '../resource.js'
import {
  allOptional,
  array,
  boolean,
  int64,
  intEnum,
  object,
  optional,
  type Static,
  string,
  stringEnum,
  text,
} from '../schema.js'
import { itemResultFields } from './results.js'

/** {@link ItemResult} with the username, in batch registration only. */
export const RegistrationResult = resource(
  'RegistrationResult',
  'The result of one entry of a batch registration.',
  {
    ...itemResultFields,
    username: text('username of the entry'),
  },
)
/** The result of one registration; user_id is 0 when it failed. */
export type RegistrationResult = Static<typeof RegistrationResult>

/** User profile of the contract: the only resource with private_info, e-mail and mobile number. */
export const UserProfile = resource('UserProfile', 'The profile of a user, as that user sees it.', {
  avatar: text('avatar URL'),
  description: text('description'),
  email: text('e-mail'),
  mobile: text('mobile number'),
  nick_name: text('nickname'),
  private_info: text('private information, visible only to the user'),
  public_info: text('public information, visible to contacts and strangers'),
  user_id: int64({ description: 'user ID' }),
  username: text('username'),
  is_bot: boolean({ description: 'true: a program' }),
})
/** The profile of the acting user; unset texts are "" (rule A6). */
export type UserProfile = Static<typeof UserProfile>

/** User list entry of the contract, for Admin tokens. */
export const UserListEntry = resource('UserListEntry', 'One user of the application.', {
  status: intEnum(meaningsOf(userStatus)),
  user_id: int64({ description: 'user ID' }),
  username: text('username'),
})
/** A user in the list of /user/list. */
export type UserListEntry = Static<typeof UserListEntry>

/** An answer of ours, so it says more than {@link UserListEntry}. */
export const FoundUser = resource('FoundUser', 'A user that a backend looked up.', {
  ...UserListEntry.properties,
  is_bot: boolean({ description: 'true: a program' }),
  subject: optional(text('the subject that was asked for; absent in other look-ups')),
})
/** A user in the answer of a look-up. */
export type FoundUser = Static<typeof FoundUser>

/**
 * Setting fields of a user without the ID; `words` builds a string field from description and
 * maximum length.
 */
function settingFields<S extends ReturnType<typeof text>>(
  words: (description: string, maxLength: number) => S,
) {
  return {
    auth_answer: words('answer of the verification question', 256),
    auth_mode: intEnum(meaningsOf(authMode), { description: 'friend-add verification' }),
    auth_question: words('verification question', 256),
    auto_download: boolean({ description: 'true automatic download, false none' }),
    group_confirm: boolean({
      description:
        'true: user consent needed when invited to a group; false: invitation agreed automatically',
    }),
    id: int64({ description: 'the user ID; ignored when sent' }),
    no_push: boolean({ description: 'true turns push messages off' }),
    no_push_detail: boolean({ description: 'true hides the text of pushes' }),
    no_push_end_hour: hour('do-not-disturb end'),
    no_push_start_hour: hour('do-not-disturb start; equal to the end means no quiet time'),
    no_sounds: boolean({ description: 'true mute on message receipt' }),
    push_nick_name: words('push display name', 256),
    push_token: words('push token', 1024),
    silence_end_time: hour('end of no-reminder period'),
    silence_start_time: hour('start of no-reminder period'),
    stranger_chat: intEnum(meaningsOf(strangerChat), { description: 'chats from unknown users' }),
    vibratory: boolean({ description: 'true vibrate on message receipt' }),
  }
}

/**
 * User settings of the contract; `id` is the user ID (rule D8). Hours are 0 to 23 in the time zone
 * of the application (rule D7).
 */
export const UserSettings = resource(
  'UserSettings',
  'How a user wants to be found, reached and notified.',
  {
    ...settingFields((description) => text(description)),
    user_id: int64({ description: 'user ID' }),
  },
)
/** All settings of a user, defaults included. */
export type UserSettings = Static<typeof UserSettings>

/** Changes of settings; omitted ones stay unchanged. */
export const userSettingChanges = allOptional(
  settingFields((description, maxLength) => string({ description, maxLength })),
)

/** Data of /user/register/anonymous (rule K12). */
export const AnonymousUser = resource(
  'AnonymousUser',
  'A user with a full name that the server chose.',
  {
    user_id: int64({ description: 'user ID' }),
    username: text('the full username: the prefix that was sent and what the server added'),
  },
)
/** The new user with its full name, which a login needs. */
export type AnonymousUser = Static<typeof AnonymousUser>

const ownedBy = { user_id: int64({ description: 'user ID' }), username: text('username') }

/** A user for operators, after a change of its state. */
export const OperatorUser = resource('OperatorUser', 'A user and whether it may log in.', {
  ...ownedBy,
  status: intEnum(meaningsOf(userStatus)),
})
/** A user and its status (rule D4). */
export type OperatorUser = Static<typeof OperatorUser>

/** The only answer that may show a password. */
export const UserWithPassword = resource('UserWithPassword', 'A user with a new password.', {
  ...ownedBy,
  password: text(
    'the password that the service made, shown this once; "" when the caller chose it',
  ),
})
/** A user with a new password. */
export type UserWithPassword = Static<typeof UserWithPassword>

/** Distinguishes a deletion from its repetition. */
export const DeletedUser = resource('DeletedUser', 'A user that is deleted.', {
  user_id: ownedBy.user_id,
  deleted: boolean({ description: 'true: by this call; false: before it' }),
})
/** A deleted user. */
export type DeletedUser = Static<typeof DeletedUser>

/** The result of one entry of an import; user_id and reason exclude each other. */
export const ImportedUser = resource('ImportedUser', 'The result of one entry of an import.', {
  username: text('the username as it was sent'),
  result: stringEnum(userImportResults, {
    description: 'exists: a user with this username exists already and stays unchanged',
  }),
  user_id: optional(int64({ description: 'user ID; absent when the entry failed' })),
  reason: optional(text('why the entry failed; absent otherwise')),
})
/** A result; a list of them is in the order of the entries. */
export type ImportedUser = Static<typeof ImportedUser>

/** The fields that an import accepts; password_hash only on request. */
export const ExportedUser = resource('ExportedUser', 'A user as an import takes it.', {
  ...ownedBy,
  nick_name: text('nickname'),
  avatar: text('avatar URL'),
  description: text('description'),
  mobile: text('mobile number'),
  email: text('e-mail'),
  public_info: text('public information, visible to contacts and strangers'),
  private_info: text('private information, visible only to the user'),
  status: intEnum(meaningsOf(userStatus)),
  created_at: instant('creation time'),
  is_bot: boolean({ description: 'true: a program' }),
  identities: array(
    object({ issuer: text('the system'), subject: text('the ID of the user there') }),
    {
      description: 'the user in other systems',
    },
  ),
  has_password: boolean({ description: 'false: the user cannot log in with a password' }),
  password_hash: optional(
    text('PHC string or bcrypt; "" for a user without a password; absent unless requested'),
  ),
})
/** A user as a line of an export. */
export type ExportedUser = Static<typeof ExportedUser>

/**
 * A page of /operator/v1/user/export. Its cursor is not the envelope's: next_cursor is always
 * present, "" on the last page.
 */
export const UserExport = resource('UserExport', 'A page of users by user ID.', {
  users: array(ExportedUser, { description: 'by user ID; deleted users are left out' }),
  next_cursor: text('cursor of the next page; "" on the last one'),
})
/** A page of users by user ID. */
export type UserExport = Static<typeof UserExport>
