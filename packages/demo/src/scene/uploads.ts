import type { Page } from 'playwright-core'

/** Holds uploads of the page back, so that their progress can be seen. @returns lets them go */
export async function holdUploads(page: Page): Promise<() => void> {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/file/upload?*', async (route) => {
    await released
    await route.continue()
  })
  return release
}
