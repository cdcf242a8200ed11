import { type DemoSession, serviceUrl } from '../session.js'

/** Deletes what earlier demos have left in this browser; each demo has its own users. */
export async function forgetEarlierDemos({ appId, users }: DemoSession): Promise<void> {
  // The client names databases by service, application and user.
  const nameOf = (url: string, userId: number) =>
    `hermod ${JSON.stringify([new URL(url).href, appId, userId])}`
  const start = `hermod ["${location.origin}/`
  const own = users.map((user) => nameOf(serviceUrl(user), user.userId))
  for (const { name = '' } of await indexedDB.databases())
    if (name.startsWith(start) && name.includes(`,"${appId}",`) && !own.includes(name))
      indexedDB.deleteDatabase(name)
}
