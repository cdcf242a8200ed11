import { appStatus, meaningsOf, reactionModes, strangerChatDefault } from '../enums.js'
import { maxFileBytes } from '../limits/file-limits.js'
import { location } from '../location.js'
import { instant, resource } from '../resource.js'
import {
  array,
  boolean,
  int32,
  int64,
  intEnum,
  type Static,
  string,
  stringEnum,
  text,
} from '../schema.js'
import { scopeWords } from '../scopes.js'

/** Data of /app/config, by the field names of clients (rule K12). */
export const ApplicationFlags = resource(
  'ApplicationFlags',
  'The flags of an application that clients need.',
  {
    hide_member_info: boolean({ description: 'true: groups may hide member details' }),
    message_forward_max_message_num: int32({
      description: 'how many messages may be forwarded at once',
    }),
    message_forward_max_user_num: int32({
      description: 'to how many users a message may be forwarded at once',
    }),
    features: array(text('name of one'), {
      description: 'additions to the contract that the service has',
    }),
  },
)
/** The flags, with defaults for unset ones. */
export type ApplicationFlags = Static<typeof ApplicationFlags>

/** The settings of an application, with the same names on the wire, in the store and in code. */
export const appSettingFields = {
  contact_application_days: int32({
    minimum: 1,
    maximum: 365,
    description: 'days that a contact request stays open',
  }),
  contact_limit: int32({ minimum: 1, maximum: 100_000, description: 'most contacts of a user' }),
  file_link_days: int32({
    minimum: 1,
    maximum: 36_500,
    description: 'days that addresses of files work; they stand in the history of messages',
  }),
  file_max_bytes: int64({
    minimum: 1,
    maximum: maxFileBytes,
    description: 'greatest size of a file in bytes',
  }),
  file_quota_bytes: int64({
    minimum: 0,
    maximum: 2 ** 53 - 1,
    description: 'most bytes of all files of the application together; 0: no limit',
  }),
  group_application_days: int32({
    minimum: 1,
    maximum: 365,
    description: 'days that join requests and invitations stay open',
  }),
  group_capacity_limit: int32({
    minimum: 1,
    maximum: 1_000_000,
    description: 'greatest capacity of a group',
  }),
  group_limit: int32({
    minimum: 0,
    description: 'most groups of the application, dissolved ones left out; 0: no limit',
  }),
  group_owner_limit: int32({
    minimum: 1,
    maximum: 100_000,
    description: 'most groups that a user owns',
  }),
  group_member_limit: int32({
    minimum: 1,
    maximum: 100_000,
    description: 'most groups that a user is in; others can add the user to half as many',
  }),
  hide_member_info: boolean({ description: 'true: groups may hide member details' }),
  history_days: int32({
    minimum: 0,
    maximum: 36_500,
    description: 'days that messages are kept; 0: for ever',
  }),
  message_forward_max_message_num: int32({
    minimum: 1,
    maximum: 500,
    description: 'how many messages clients forward at once',
  }),
  message_forward_max_user_num: int32({
    minimum: 1,
    maximum: 500,
    description: 'to how many users clients forward a message at once',
  }),
  reaction_mode: stringEnum(reactionModes, {
    description:
      'reactions of a user to a message: distinct: several; one: a new one takes the place of the old',
  }),
  recall_enabled: boolean({ description: 'true: senders may recall their messages' }),
  recall_seconds: int32({ minimum: 1, description: 'how long a sender may recall a message' }),
  registration_burst: int32({
    minimum: 1,
    maximum: 1_000_000,
    description: 'users that one client address registers at once after a pause',
  }),
  registration_rate: int32({
    minimum: 1,
    maximum: 1_000_000,
    description: 'users that one client address registers in a minute over time',
  }),
  stranger_chat_default: intEnum(meaningsOf(strangerChatDefault), {
    description: 'chats from unknown users where a user has set nothing',
  }),
  stream_review: boolean({
    description:
      'true: devices get no text of a message that is being written by events until it has ended',
  }),
  system_avatar: location('avatar of the system, user 0; "": none'),
  system_name: string({ description: 'name of the system, user 0', maxLength: 256 }),
  time_zone: string({
    description: 'IANA name of the time zone of quiet hours',
    maxLength: 64,
    pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$',
    form: 'the IANA name of a time zone',
    examples: ['Europe/Berlin'],
  }),
  user_limit: int32({ minimum: 0, description: 'most users of the application; 0: no limit' }),
}

/** All settings of an application; each has a default, which docs/guides/applications.md lists. */
export const AppSettings = resource(
  'ApplicationSettings',
  'Settings of an application.',
  appSettingFields,
)
/** All settings with their values. */
export type AppSettings = Static<typeof AppSettings>

/** An application for operators, without its registration secret. */
export const Application = resource('Application', 'An application of this service.', {
  app_id: text('application ID, the value of the app_id header'),
  name: text('display name'),
  status: intEnum(meaningsOf(appStatus)),
  open_registration: boolean({ description: 'true: users may register without a token' }),
  has_registration_secret: boolean({ description: 'true: /user/register/push asks for `sign`' }),
  settings: AppSettings,
  created_at: instant('creation time'),
})
/** An application; times in ms. */
export type Application = Static<typeof Application>

/** The only answer that shows the first Admin token (rule C6). */
export const CreatedApp = resource(
  'CreatedApplication',
  'A new application with its first Admin token.',
  {
    app_id: text('application ID'),
    name: text('display name'),
    admin_token: text('Admin token; shown this once'),
  },
)
/** A new application and its token in clear. */
export type CreatedApp = Static<typeof CreatedApp>

const adminTokenFields = {
  token_id: int64({ description: 'token ID' }),
  app_id: text('application that the token is for'),
  name: text('what the operator calls the token'),
  scopes: array(stringEnum(scopeWords), { description: 'its scopes, or all alone' }),
  expires_at: instant('when it expires, 0 never'),
}

/** An Admin token without its secret (rule C6). Times in ms, 0 for never. */
export const AdminToken = resource('AdminToken', 'An Admin token, without the token itself.', {
  ...adminTokenFields,
  created_at: instant('creation time'),
  revoked_at: instant('when it was revoked, 0 not'),
})
/** A listed Admin token; a revoked one has revoked_at. */
export type AdminToken = Static<typeof AdminToken>

/** The only answer that shows the token (rule C6). */
export const CreatedAdminToken = resource('CreatedAdminToken', 'A new Admin token.', {
  ...adminTokenFields,
  token: text('the token; shown this once'),
})
/** A new Admin token in clear. */
export type CreatedAdminToken = Static<typeof CreatedAdminToken>
