-- expand
CREATE TABLE "pending_uploads" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"type" text NOT NULL,
	"size" integer NOT NULL,
	"bytes" "bytea" NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL
);

ALTER TABLE "pending_uploads" ADD CONSTRAINT "pending_uploads_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "pending_uploads_user" ON "pending_uploads" USING btree ("user_id");
CREATE INDEX "pending_uploads_created" ON "pending_uploads" USING btree ("created_at");
