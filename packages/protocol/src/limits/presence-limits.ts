/** Different users in the presence lists of all sessions of one user. */
export const maxPresenceUsers = 2_000
