/** The sections of the reference, in order, with their subjects. */
export const tags = {
  Tokens: 'Logging in, and tokens for the users of your own system.',
  Users: 'Registration, profiles and the state of users.',
  'User settings': 'How a user wants to be found, reached and notified.',
  Devices: 'Devices of a user and whether the user is online.',
  Contacts: 'Contacts, contact requests and the block list of a user.',
  Messages: 'Sending, receiving and acknowledging messages.',
  Conversations: 'History, unread counts and the list of conversations.',
  Sync: 'Changes that a client has missed, and the changes of conversations.',
  Push: 'Push notifications and their results.',
  Groups: 'Groups and their information.',
  'Group members': 'Members, admins, bans and the block list of a group.',
  'Group admission': 'Join requests, invitations and QR codes.',
  'Group settings': 'Settings of a group, and those of the caller in it.',
  'Group announcements': 'Announcements to a group.',
  'Group files': 'Files shared in a group.',
  Files: 'Upload tickets and downloads.',
  Applications: 'Settings of the application that clients need.',
  Webhooks: 'Events for other systems: endpoints that they are sent to, and the log.',
  Operator: 'Applications, Admin tokens and integrity checks, with an operator token.',
} as const

/** The name of a section of the reference. */
export type Tag = keyof typeof tags
