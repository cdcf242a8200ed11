import { useClient, useView } from '@hermod/client/react'

/**
 * Returns the address of a file for this user.
 * @param thumbnail pixels: a smaller picture that fits into a square of this side
 * @returns undefined for no file, and until the client has a token
 */
export function useFileUrl(url: string, thumbnail?: number): string | undefined {
  const client = useClient()
  // The client gets its token before it connects.
  useView(client.connection)
  return client.fileUrl(url, thumbnail === undefined ? {} : { thumbnail })
}
