export interface Application {
  readonly appId: string
  readonly name: string
  /** 0 normal, 1 disabled */
  readonly status: number
  readonly openRegistration: boolean
  /** '' = no `sign` is asked for at /user/register/push */
  readonly registrationSecret: string
  readonly createdAt: number
}

export interface AdminToken {
  readonly tokenId: number
  readonly appId: string
  readonly name: string
  readonly createdAt: number
  /** null = never */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

export const appIdPattern = /^[a-z0-9_-]{2,32}$/
