import type { DemoSession } from '../session.js'

/** Deletes what earlier demos have left in this browser; each demo has its own users. */
export async function forgetEarlierDemos({ users }: DemoSession): Promise<void> {
  for (const { name = '' } of await indexedDB.databases()) {
    const isOfUser = users.some(({ userId }) => name.includes(String(userId)))
    if (name.startsWith('hermod ') && !isOfUser) indexedDB.deleteDatabase(name)
  }
}
