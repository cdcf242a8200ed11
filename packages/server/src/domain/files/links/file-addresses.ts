import { downloadAvatar, downloadChatFile, finishUpload, uploadFile } from '@hermod/protocol'

/**
 * Absolute addresses of tickets and files. Those of files end with their signature, because clients
 * take the text after the first `sign=` and append parameters of their own (rule K8).
 */
export class FileAddresses {
  /** @param baseUrl where clients reach the service, without a slash at the end */
  constructor(private readonly baseUrl: string) {}

  upload(ticket: string): string {
    return `${this.baseUrl}${uploadFile.path}?ticket=${ticket}`
  }

  /** The address to which a store redirects the client after it took the file. */
  uploaded(ticket: string): string {
    return `${this.baseUrl}${finishUpload.path}?ticket=${ticket}`
  }

  chatFile(link: string): string {
    return `${this.baseUrl}${downloadChatFile.path}?file_sign=${link}`
  }

  avatar(objectName: string, link: string): string {
    return `${this.baseUrl}${downloadAvatar.path}?object_name=${objectName}&file_sign=${link}`
  }
}
