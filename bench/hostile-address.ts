import type { Answer } from './support/question.ts';
export const hostileAddress = async (): Promise<readonly Answer[]> => [];
