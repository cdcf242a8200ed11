/** A user of the demo. */
export interface DemoUser {
  readonly userId: number
  readonly name: string
  /** An access token, which ends with the server of the demo. */
  readonly token: string
  /** The path of the service for this user; absent: /. */
  readonly servicePath?: string
}

/** The answer of `hermod demo` to this page. */
export interface DemoSession {
  readonly appId: string
  readonly users: readonly DemoUser[]
  /** Reports whether the service has several nodes, which the page shows. */
  readonly hasNodes?: boolean
}

/** Returns the address of the service for a user. */
export function serviceUrl({ servicePath = '' }: DemoUser): string {
  return location.origin + servicePath
}

/**
 * Reads the users and their tokens. An app has a login in this place.
 * @throws Error when the server does not answer
 */
export async function readSession(): Promise<DemoSession> {
  const response = await fetch('demo/session.json')
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  return response.json()
}
