/** The public interface of the client: what `createClient` returns. */
export type * from './api/client.js'
export type * from './api/conversation.js'
export type * from './api/groups.js'
export type * from './api/message.js'
export type * from './api/options.js'
export type * from './api/users.js'
export type * from './api/view.js'
