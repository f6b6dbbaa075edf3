/**
 * Reads something at most once in each run of code.
 */

/**
 * Makes a function that gives the result of `read`, which it calls only once in each run of code: from the moment Node calls into the program
 * until the program returns to Node. Whatever the program works on in that time had been received before, so reading again could not tell it
 * anything that the sender of a request already knew.
 */
export function oncePerRun<Result>(read: () => Result): () => Result {
  let isRead = false;
  let result: Result;
  const forget = () => {
    isRead = false;
  };
  return () => {
    if (!isRead) {
      result = read();
      isRead = true;
      process.nextTick(forget);
    }
    return result;
  };
}
