import { authMode, meaningsOf, strangerChat, userImportResults, userStatus } from '../enums.js'
import {
  allOptional,
  array,
  boolean,
  int64,
  intEnum,
  optional,
  type Static,
  string,
  stringEnum,
  text,
} from '../schema.js'
import { hour, instant, resource } from './fields.js'
import { itemResultFields } from './results.js'

export const RegistrationResult = resource(
  'RegistrationResult',
  'What became of one entry of a batch registration.',
  {
    ...itemResultFields,
    username: text('username of the entry'),
  },
)
export type RegistrationResult = Static<typeof RegistrationResult>

export const UserProfile = resource('UserProfile', 'The profile that a user sees of himself.', {
  avatar: text('avatar URL'),
  description: text('description'),
  email: text('e-mail'),
  mobile: text('mobile number'),
  nick_name: text('nickname'),
  private_info: text('private information, visible only to the user'),
  public_info: text('public information, visible to contacts and strangers'),
  user_id: int64({ description: 'user ID' }),
  username: text('username'),
})
export type UserProfile = Static<typeof UserProfile>

export const UserListEntry = resource('UserListEntry', 'One user of the application.', {
  status: intEnum(meaningsOf(userStatus)),
  user_id: int64({ description: 'user ID' }),
  username: text('username'),
})
export type UserListEntry = Static<typeof UserListEntry>

/** The settings of a user, apart from whose they are; `words` makes a string field from its description and its longest value. */
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

export const UserSettings = resource(
  'UserSettings',
  'How a user wants to be found, reached and notified.',
  {
    ...settingFields((description) => text(description)),
    user_id: int64({ description: 'user ID' }),
  },
)
export type UserSettings = Static<typeof UserSettings>

/** The settings as a caller changes them: what is absent stays as it is. */
export const userSettingChanges = allOptional(
  settingFields((description, maxLength) => string({ description, maxLength })),
)

export const AnonymousUser = resource('AnonymousUser', 'A user whose full name the server chose.', {
  user_id: int64({ description: 'user ID' }),
  username: text('the full username: the prefix that was sent and what the server added'),
})
export type AnonymousUser = Static<typeof AnonymousUser>

const ownedBy = { user_id: int64({ description: 'user ID' }), username: text('username') }

export const OperatorUser = resource('OperatorUser', 'A user and whether it may log in.', {
  ...ownedBy,
  status: intEnum(meaningsOf(userStatus)),
})
export type OperatorUser = Static<typeof OperatorUser>

export const UserWithPassword = resource('UserWithPassword', 'A user whose password was set.', {
  ...ownedBy,
  password: text(
    'the password that the service made, shown this once; "" when the caller chose it',
  ),
})
export type UserWithPassword = Static<typeof UserWithPassword>

export const DeletedUser = resource('DeletedUser', 'A user that is deleted.', {
  user_id: ownedBy.user_id,
  deleted: boolean({ description: 'true: by this call; false: before it' }),
})
export type DeletedUser = Static<typeof DeletedUser>

export const ImportedUser = resource('ImportedUser', 'What became of one entry of an import.', {
  username: text('the username as it was sent'),
  result: stringEnum(userImportResults, {
    description: 'exists: a user with this username is there already and stays as it is',
  }),
  user_id: optional(int64({ description: 'user ID; absent when the entry failed' })),
  reason: optional(text('why the entry failed; absent otherwise')),
})
export type ImportedUser = Static<typeof ImportedUser>

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
  password_hash: optional(
    text('PHC string or bcrypt; "" for a user without a password; absent unless asked for'),
  ),
})
export type ExportedUser = Static<typeof ExportedUser>

export const UserExport = resource('UserExport', 'A page of users by user ID.', {
  users: array(ExportedUser, { description: 'by user ID; deleted users are left out' }),
  next_cursor: text('cursor of the next page; "" on the last one'),
})
export type UserExport = Static<typeof UserExport>
