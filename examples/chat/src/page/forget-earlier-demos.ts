import type { DemoSession } from '../session.js'

/** Deletes what earlier demos have left in this browser; each demo has its own users. */
export async function forgetEarlierDemos({ appId, users }: DemoSession): Promise<void> {
  // The client names databases by service, application and user.
  const start = `hermod ["${location.origin}/","${appId}",`
  const own = users.map(({ userId }) => `${start}${userId}]`)
  for (const { name = '' } of await indexedDB.databases())
    if (name.startsWith(start) && !own.includes(name)) indexedDB.deleteDatabase(name)
}
