/** The user ID of the service itself: sender of notices, never a row (decision B1). */
export const systemUserId = 0
