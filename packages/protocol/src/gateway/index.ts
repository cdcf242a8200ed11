/** The wire contract of the gateway: its frames and the opening of a session, as data. */
export * from './frames.js'
export * from './session.js'
