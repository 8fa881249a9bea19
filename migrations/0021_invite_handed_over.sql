ALTER TABLE "invites" ADD COLUMN "handed_over" boolean DEFAULT false NOT NULL;
