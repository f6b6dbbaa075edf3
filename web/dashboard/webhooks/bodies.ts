/**
 * Bodies of requests and answers as text.
 */

/** JSON with line breaks; other text as it is. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The text of a body in Base64. Bytes that are no text become replacement characters. */
export function decodedBody(base64: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
  } catch {
    return base64;
  }
}
